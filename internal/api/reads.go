package api

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/rowlock/rowlock/internal/inventory"
)

// How long answers may be kept elsewhere. A map never changes, but an event may move to another version
// of it, so under the event's URL a drawing is asked about each time; 304 is all that costs.
const (
	mapCachePublic   = "public, no-cache"
	mapCachePrivate  = "private, no-cache"
	cacheRevalidated = "no-cache"
	cachePrivate     = "private, no-cache"
)

const (
	compressedMax        = 64   // maps and boards kept compressed
	compressedFromBytes  = 1024 // shorter ones are sent as they are
	offerTagCharacters   = 16   // of the hash in an offer's ETag
	contentEncodingGzip  = "gzip"
	contentEncodingNone  = "identity"
	headerAcceptEncoding = "Accept-Encoding"
)

// getEventMap gives the drawing of an event's map.
func (s *Server) getEventMap(x *exchange, r *http.Request) error {
	id, data, err := s.service.EventMap(r.Context(), x.caller, r.PathValue("event"))
	if err != nil {
		return err
	}
	cache := mapCachePublic
	if x.caller.Organizer != "" {
		cache = mapCachePrivate
	}
	return s.replyMap(x, r, id, data, cache)
}

// replyMap sends a drawing, compressed where it pays and is understood.
func (s *Server) replyMap(x *exchange, r *http.Request, id string, data []byte, cache string) error {
	header := x.Header()
	header.Set("Cache-Control", cache)
	header.Add("Vary", headerAcceptEncoding)
	tag := `"` + id + `"`
	if len(data) >= compressedFromBytes && acceptsGzip(r) {
		tag = `"` + id + `.gz"` // other bytes, and so another tag
		header.Set("Content-Encoding", contentEncodingGzip)
	}
	header.Set("ETag", tag)
	if matches(r, tag) {
		header.Del("Content-Encoding")
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	if header.Get("Content-Encoding") != "" {
		data = s.zipped.get(id, func() ([]byte, error) { return data, nil })
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(data)))
	x.writeBytes(http.StatusOK, data)
	return nil
}

// getBoard gives every unit's state: the same bytes for everybody.
func (s *Server) getBoard(x *exchange, r *http.Request) error {
	v, err := s.service.Board(r.Context(), x.caller, r.PathValue("event"))
	if err != nil {
		return err
	}
	header := x.Header()
	header.Set("Cache-Control", cacheRevalidated)
	zipped := false
	if len(v.Seats) >= compressedFromBytes {
		header.Add("Vary", headerAcceptEncoding)
		zipped = acceptsGzip(r)
	}
	tag := `"` + v.Position + `"`
	if zipped {
		tag = `"` + v.Position + `.gz"`
	}
	header.Set("ETag", tag)
	if matches(r, tag) {
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	if !zipped {
		return x.reply(http.StatusOK, boardOf(v))
	}
	data := s.zipped.get(r.PathValue("event")+" "+v.Position, func() ([]byte, error) {
		var b bytes.Buffer
		err := render(&b, boardOf(v))
		return b.Bytes(), err
	})
	if data == nil {
		return errUnanswered
	}
	header.Set("Content-Encoding", contentEncodingGzip)
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(data)))
	x.writeBytes(http.StatusOK, data)
	return nil
}

// getChanges gives what happened after a position.
func (s *Server) getChanges(x *exchange, r *http.Request) error {
	position, err := after(r)
	if err != nil {
		return err
	}
	v, err := s.service.Changes(r.Context(), x.caller, r.PathValue("event"), position)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, changesOf(v))
}

// getOffer gives what may be bought with the access code that is sent, or without. The tag has the
// version and a hash of the answer, since two codes see two offers of one version.
func (s *Server) getOffer(x *exchange, r *http.Request) error {
	code := r.Header.Get(headerAccessCode)
	v, err := s.service.Offer(r.Context(), x.caller, r.PathValue("event"), code)
	if err != nil {
		return err
	}
	header := x.Header()
	header.Add("Vary", headerAccessCode)
	cache := cacheRevalidated
	if code != "" || x.caller.Organizer != "" {
		cache = cachePrivate
	}
	header.Set("Cache-Control", cache)
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	if err := render(b, offerOf(v)); err != nil {
		return err
	}
	sum := sha256.Sum256(b.Bytes())
	tag := `"` + strconv.FormatInt(v.Version, 10) + "-" + hex.EncodeToString(sum[:])[:offerTagCharacters] + `"`
	header.Set("ETag", tag)
	if matches(r, tag) {
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", "application/json")
	x.writeBytes(http.StatusOK, b.Bytes())
	return nil
}

// matches reports whether the client has what a tag names. Weak tags are good enough for a GET.
func matches(r *http.Request, tag string) bool {
	for _, value := range r.Header["If-None-Match"] {
		for have := range strings.SplitSeq(value, ",") {
			have = strings.TrimSpace(have)
			if have == "*" || strings.TrimPrefix(have, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// acceptsGzip reads Accept-Encoding: gzip named, and not with a weight of nothing.
func acceptsGzip(r *http.Request) bool {
	for _, value := range r.Header[headerAcceptEncoding] {
		for part := range strings.SplitSeq(value, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
			if !strings.EqualFold(strings.TrimSpace(name), contentEncodingGzip) {
				continue
			}
			q, weighted := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
			value, err := strconv.ParseFloat(q, 64)
			return !weighted || err == nil && value > 0
		}
	}
	return false
}

// compressed keeps the maps and boards that were asked for last in their compressed form, each
// compressed once however many ask at once. Safe for concurrent use.
type compressed struct {
	mu    sync.Mutex
	order *list.List // of *compressedOne, the one asked for last in front
	byID  map[string]*list.Element
}

type compressedOne struct {
	id   string
	data func() []byte
}

func newCompressed() *compressed {
	return &compressed{order: list.New(), byID: make(map[string]*list.Element)}
}

// get returns what plain gives, compressed; nil when it gives an error.
func (c *compressed) get(id string, plain func() ([]byte, error)) []byte {
	c.mu.Lock()
	e, ok := c.byID[id]
	if ok {
		c.order.MoveToFront(e)
	} else {
		e = c.order.PushFront(&compressedOne{id: id, data: sync.OnceValue(func() []byte { return zip(plain()) })})
		c.byID[id] = e
		if c.order.Len() > compressedMax {
			last := c.order.Back()
			delete(c.byID, c.order.Remove(last).(*compressedOne).id)
		}
	}
	c.mu.Unlock()
	return e.Value.(*compressedOne).data()
}

// zip compresses quickly rather than well: a board is compressed at each position somebody asks at.
func zip(plain []byte, err error) []byte {
	var b bytes.Buffer
	w, levelErr := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil || levelErr != nil {
		return nil
	}
	// A buffer takes every write, so neither call can fail.
	w.Write(plain)
	w.Close()
	return b.Bytes()
}

// healthy is the answer of a server that runs.
type healthy struct {
	Status  string `json:"status"`
	Version string `json:"version,omitzero"`
}

// getHealth says that the process answers. It asks nobody else.
func (s *Server) getHealth(x *exchange, _ *http.Request) error {
	return x.reply(http.StatusOK, healthy{Status: "ok", Version: s.version})
}

// getReady says whether requests can be served.
func (s *Server) getReady(x *exchange, r *http.Request) error {
	if s.ready != nil {
		if err := s.ready(r.Context()); err != nil {
			return fmt.Errorf("api: not ready: %w (%w)", refuse(inventory.Unavailable), err)
		}
	}
	return x.reply(http.StatusOK, healthy{Status: "ok", Version: s.version})
}

func (s *Server) getMetrics(x *exchange, r *http.Request) error {
	s.metrics.page.ServeHTTP(x, r)
	return nil
}

func (s *Server) getOpenAPI(x *exchange, _ *http.Request) error {
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Cache-Control", cacheRevalidated)
	x.writeBytes(http.StatusOK, s.openAPI)
	return nil
}
