package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Bounds of an Idempotency-Key, in printable ASCII characters.
const (
	idempotencyCharactersMin = 16
	idempotencyCharactersMax = 128
)

const (
	headerIdempotencyKey     = "Idempotency-Key"
	headerIdempotentReplayed = "Idempotent-Replayed"
)

// faultIdempotencyKey is the fault of a key that is too short, too long or not printable ASCII.
const faultIdempotencyKey = "INVALID_IDEMPOTENCY_KEY"

// faultNeedsAnotherKey is the fault of an Idempotency-Key that could never be made use of.
const faultNeedsAnotherKey = "NEEDS_ANOTHER_KEY"

// idempotency reads the Idempotency-Key; nil without one. A client's key means something only for
// one caller, method and path.
func (x *exchange) idempotency(r *http.Request) (*inventory.Idempotency, error) {
	values := r.Header[headerIdempotencyKey]
	if len(values) == 0 {
		return nil, nil
	}
	key := values[0]
	if len(values) > 1 || len(key) < idempotencyCharactersMin || len(key) > idempotencyCharactersMax || !printableASCII(key) {
		return nil, invalid(headerIdempotencyKey, faultIdempotencyKey, "It is 16 to 128 printable ASCII characters without spaces.")
	}
	caller := "public"
	switch {
	case x.caller.Key != "":
		caller = "key:" + x.caller.Key
	case !x.holder.IsZero():
		caller = "hold:" + string(x.holder[:])
	}
	id := &inventory.Idempotency{Body: sha256.Sum256(x.body), Secret: key}
	h := sha256.New()
	var length [8]byte
	for _, part := range [...]string{caller, r.Method, r.URL.Path, key} {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	h.Sum(id.ID[:0])
	return id, nil
}

func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// rendered is an answer of paperwork, as it is sent and as it is kept. Location may be empty.
type rendered struct {
	status   int
	location string
	value    any
	secret   bool // the value holds a secret, and is kept encrypted
}

// kept turns an answer into the two parts of a record: a line with status and location, followed by
// the body unless that has a secret in it.
func (a rendered) kept(id *inventory.Idempotency) (answer, sealed []byte, err error) {
	var body bytes.Buffer
	if err := render(&body, a.value); err != nil {
		return nil, nil, err
	}
	answer = fmt.Appendf(nil, "%d %s\n", a.status, a.location)
	if a.secret {
		return answer, id.Seal(body.Bytes()), nil
	}
	return append(answer, body.Bytes()...), nil, nil
}

// replay sends a kept answer again, byte by byte.
func (x *exchange) replay(id *inventory.Idempotency, rec *inventory.Record) error {
	head, body, ok := bytes.Cut(rec.Answer, []byte("\n"))
	code, location, _ := strings.Cut(string(head), " ")
	status, err := strconv.Atoi(code)
	if !ok || err != nil {
		return errors.New("api: an idempotency record cannot be read")
	}
	if len(rec.Sealed) > 0 {
		if body, err = id.Open(rec.Sealed); err != nil {
			return fmt.Errorf("api: replay: %w", err)
		}
	}
	header := x.Header()
	header.Set(headerIdempotentReplayed, "true")
	header.Set("Content-Type", "application/json")
	if location != "" {
		header.Set("Location", location)
	}
	x.writeBytes(status, body)
	return nil
}

// write runs a piece of paperwork and sends what it made. With an Idempotency-Key the answer is kept
// in the transaction that makes it, and sent from there when the request comes again.
func write[T any](x *exchange, r *http.Request, show func(T) rendered, do func(*inventory.Once) (T, error)) error {
	id, err := x.idempotency(r)
	if err != nil {
		return err
	}
	var once *inventory.Once
	if id != nil {
		once = &inventory.Once{Idempotency: *id, Render: func(made any) (answer, sealed []byte, err error) {
			v, ok := made.(T)
			if !ok {
				return nil, nil, fmt.Errorf("api: no answer is made of a %T", made)
			}
			return show(v).kept(id)
		}}
	}
	made, err := do(once)
	if recorded, ok := errors.AsType[*inventory.Recorded](err); ok && id != nil {
		return x.replay(id, &recorded.Record)
	}
	if err != nil {
		return err
	}
	a := show(made)
	if a.location != "" {
		x.Header().Set("Location", a.location)
	}
	return x.reply(a.status, a.value)
}

// replayed marks an answer that was found, not made.
func (x *exchange) replayed(yes bool) {
	if yes {
		x.Header().Set(headerIdempotentReplayed, "true")
	}
}
