package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The bounds of a Client. They are generous: the largest answer is the drawing of a map of 200,000
// seats, and a server that is slower than the timeout has broken a promise of its own.
const (
	answerBytesMax     = 64 << 20
	problemBytesMax    = 1 << 20
	idleConnsPerHost   = 512 // as many callers as the races and load runs put on one server
	idleConnTimeout    = 90 * time.Second
	dialTimeout        = 10 * time.Second
	tlsTimeout         = 10 * time.Second
	answerHeadTimeout  = 60 * time.Second
	retryAfterSecsMax  = 24 * 60 * 60
	errorDetailsShown  = 200 // characters of an answer that is not ours
	headerBytesMax     = 64 << 10
	problemContentType = "application/problem+json"
)

// CodeUnexpected is the Code of a Problem that did not come from Rowlock: a proxy's error page, a
// redirect, or anything else that is not a problem document.
const CodeUnexpected = "UNEXPECTED_ANSWER"

// ErrNotModified is returned by a call made with IfNoneMatch when what the caller has is still current.
var ErrNotModified = errors.New("rowlock: not modified")

// ErrAnswerTooLarge is returned when an answer is longer than a Client is willing to read.
var ErrAnswerTooLarge = errors.New("rowlock: the answer is too large")

// Client calls one Rowlock server. Make it with New. It is safe for concurrent use, keeps its
// connections open between calls, follows no redirects (they could carry a token elsewhere) and never
// retries by itself: whoever sends an IdempotencyKey may repeat a call without fear.
//
// Methods return a *Problem (use errors.AsType or errors.As) for every answer that is not a success,
// and other errors when there was no answer: then it is unknown whether the call had an effect.
type Client struct {
	base string
	bad  error // why base cannot be used; answered by every call
	key  string
	code string
	http *http.Client
}

// Option configures a Client.
type Option func(*Client)

// WithKey sends an organizer's or scanner's API key with every call.
func WithKey(secret string) Option { return func(c *Client) { c.key = secret } }

// WithAccessCode sends an access code with every call that a channel matters to.
func WithAccessCode(code string) Option { return func(c *Client) { c.code = code } }

// WithHTTPClient uses another HTTP client. Its redirect policy, timeout and transport are then the caller's.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// New makes a Client for a server's base URL, such as "http://127.0.0.1:8080". A URL that cannot be
// used is reported by the first call.
func New(baseURL string, opts ...Option) *Client {
	c := &Client{base: strings.TrimRight(baseURL, "/")}
	u, err := url.Parse(baseURL)
	switch {
	case err != nil:
		c.bad = fmt.Errorf("rowlock: base URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		c.bad = errors.New("rowlock: the base URL must be http or https with a host, and no query or fragment")
	}
	for _, o := range opts {
		o(c)
	}
	if c.http == nil {
		c.http = &http.Client{
			Transport:     NewTransport(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return c
}

// NewTransport returns a transport that keeps enough idle connections to one server for 512 callers,
// so that none of them dials anew for each call.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  answerHeadTimeout,
		MaxIdleConns:           0, // bounded per host
		MaxIdleConnsPerHost:    idleConnsPerHost,
		IdleConnTimeout:        idleConnTimeout,
		MaxResponseHeaderBytes: headerBytesMax,
		ForceAttemptHTTP2:      true,
	}
}

// call is one request being made. Options write to it; what the answer's head says is read from it.
type call struct {
	header   http.Header
	replayed *bool
	etag     *string
	status   *int
}

// CallOption changes one call.
type CallOption func(*call)

// HoldToken proves the right to one hold.
func HoldToken(token string) CallOption {
	return func(c *call) { c.header.Set("Hold-Token", token) }
}

// OrderToken proves the right to look at one order.
func OrderToken(token string) CallOption {
	return func(c *call) { c.header.Set("Order-Token", token) }
}

// AccessCode opens a channel for one call.
func AccessCode(code string) CallOption {
	return func(c *call) { c.header.Set("Access-Code", code) }
}

// IdempotencyKey lets a call be repeated: 16 to 128 printable ASCII characters, meant to be random.
// A repeat with the same body within 24 hours is answered as the first was.
func IdempotencyKey(key string) CallOption {
	return func(c *call) { c.header.Set("Idempotency-Key", key) }
}

// RequestID names the call in the server's log: at most 64 of A-Z, a-z, 0-9, ".", "_" and "-".
func RequestID(id string) CallOption {
	return func(c *call) { c.header.Set("Request-Id", id) }
}

// IfNoneMatch asks for an answer only if it is not the one with this ETag; otherwise ErrNotModified.
func IfNoneMatch(etag string) CallOption {
	return func(c *call) { c.header.Set("If-None-Match", etag) }
}

// ETag stores the answer's ETag, empty when it has none.
func ETag(into *string) CallOption { return func(c *call) { c.etag = into } }

// StatusCode stores the HTTP status of the answer, 0 when there was none.
func StatusCode(into *int) CallOption { return func(c *call) { c.status = into } }

// Replayed stores whether the answer was recorded by an earlier call with the same IdempotencyKey.
func Replayed(into *bool) CallOption { return func(c *call) { c.replayed = into } }

// do sends a request and decodes the answer into out, unless out is nil. body is marshalled unless it
// is nil or json.RawMessage, which is sent as it is.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, out any, opts []CallOption) error {
	data, err := c.roundTrip(ctx, method, path, query, body, opts)
	if err != nil || out == nil {
		return err
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = data
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("rowlock: %s %s: the answer: %w", method, path, err)
	}
	return nil
}

func (c *Client) roundTrip(ctx context.Context, method, path string, query url.Values, body any, opts []CallOption) ([]byte, error) {
	k := &call{header: make(http.Header, 6)}
	req, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	for name, values := range req.Header {
		k.header[name] = values
	}
	for _, o := range opts {
		o(k)
	}
	req.Header = k.header

	if k.status != nil {
		*k.status = 0
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("rowlock: %w", err)
	}
	defer resp.Body.Close()
	if k.status != nil {
		*k.status = resp.StatusCode
	}
	if k.etag != nil {
		*k.etag = resp.Header.Get("ETag")
	}
	if k.replayed != nil {
		*k.replayed = resp.Header.Get("Idempotent-Replayed") == "true"
	}
	switch {
	case resp.StatusCode == http.StatusNotModified:
		return nil, ErrNotModified
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, problemOf(resp)
	}
	data, err := readBounded(resp.Body, answerBytesMax)
	if err != nil {
		return nil, fmt.Errorf("rowlock: %s %s: %w", method, path, err)
	}
	return data, nil
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case json.RawMessage:
		reader = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("rowlock: %s %s: the body: %w", method, path, err)
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("rowlock: %w", err)
	}
	if reader != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.code != "" {
		req.Header.Set("Access-Code", c.code)
	}
	return req, nil
}

// problemOf reads an answer that is not a success. Whatever stands between client and server may have
// written it, so anything that is not a problem document becomes one here.
func problemOf(resp *http.Response) error {
	p := new(Problem)
	data, err := readBounded(resp.Body, problemBytesMax)
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	ours := err == nil && strings.EqualFold(strings.TrimSpace(media), problemContentType) &&
		json.Unmarshal(data, p) == nil && p.Code != ""
	if !ours {
		*p = Problem{
			Type: "about:blank", Title: http.StatusText(resp.StatusCode), Code: CodeUnexpected,
			RequestID: resp.Header.Get("Request-Id"), Detail: excerpt(data),
		}
	}
	p.Status = resp.StatusCode
	p.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return p
}

// excerpt is the beginning of a foreign answer, as valid text.
func excerpt(data []byte) string {
	if len(data) > errorDetailsShown {
		data = data[:errorDetailsShown]
	}
	return strings.ToValidUTF8(string(data), "")
}

// retryAfter reads a Retry-After header, which is seconds or a date; 0 when there is none to act on.
func retryAfter(value string, now time.Time) int64 {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		at, err := http.ParseTime(value)
		if err != nil {
			return 0
		}
		seconds = int64(at.Sub(now).Round(time.Second) / time.Second)
	}
	return min(max(seconds, 0), retryAfterSecsMax)
}

// readBounded reads to the end, which also frees the connection for the next call, or fails.
func readBounded(r io.Reader, bound int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, bound+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > bound {
		return nil, ErrAnswerTooLarge
	}
	return data, nil
}

// pathOf joins segments behind /v1. A segment that is empty or made of dots would be another path to
// the server, so it is replaced by one that names nothing there: the answer is the same 404.
func pathOf(segments ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, s := range segments {
		b.WriteByte('/')
		switch s {
		case "", ".", "..":
			b.WriteByte('_')
		default:
			b.WriteString(url.PathEscape(s))
		}
	}
	return b.String()
}

// Healthy returns nil when the server's process answers at all.
func (c *Client) Healthy(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/healthz", nil, nil, nil, nil)
}

// Ready returns nil when the server can take calls: its store answers.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/readyz", nil, nil, nil, nil)
}
