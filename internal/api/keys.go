package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// listKeys lists the organizer's keys, without their secrets.
func (s *Server) listKeys(x *exchange, r *http.Request) error {
	p, err := page(r, idsOf(inventory.PrefixKey))
	if err != nil {
		return err
	}
	p.Reference = "" // keys have none
	limit := p.Limit
	p.Limit++ // one more tells whether there is a next page
	keys, err := s.office.Keys(r.Context(), x.caller.Organizer, p)
	if err != nil {
		return err
	}
	next := ""
	if len(keys) > limit {
		keys = keys[:limit]
		next = keys[limit-1].ID
	}
	return x.reply(http.StatusOK, listOf(keys, next, keyOf))
}

// madeKey is a key with its secret, which is shown once.
type madeKey struct {
	key    *office.Key
	secret string
}

func showKey(m madeKey) rendered {
	out := keyOf(m.key)
	out.Secret = m.secret
	return rendered{status: http.StatusCreated, value: out, secret: true}
}

// renderKey is what the office calls to learn what an Idempotency-Key's record shall keep.
type renderKey func(*office.Key, string) (*inventory.Record, error)

// writeKey is write for keys: the office has a seam of its own, narrower than the inventory's. The
// answer is made before the store's clock has spoken, and is the same whenever it is sent: with an
// Idempotency-Key it says when the server made the key, by the server's clock.
func writeKey(x *exchange, r *http.Request, do func(renderKey) (*office.Key, string, error)) error {
	id, err := x.idempotency(r)
	if err != nil {
		return err
	}
	var asked time.Time
	var keep renderKey
	if id != nil {
		asked = time.Now()
		keep = func(k *office.Key, secret string) (*inventory.Record, error) {
			stamped := *k
			stamped.Created = inventory.InstantOf(asked)
			answer, sealed, err := showKey(madeKey{&stamped, secret}).kept(id)
			return &inventory.Record{ID: id.ID, Body: id.Body, Answer: answer, Sealed: sealed}, err
		}
	}
	key, secret, err := do(keep)
	if recorded, ok := errors.AsType[*inventory.Recorded](err); ok && id != nil {
		return x.replay(id, &recorded.Record)
	}
	if err != nil {
		return err
	}
	if id != nil {
		stamped := *key
		stamped.Created = inventory.InstantOf(asked)
		key = &stamped
	}
	a := showKey(madeKey{key, secret})
	return x.reply(a.status, a.value)
}

// createKey makes a key for the caller's organizer.
func (s *Server) createKey(x *exchange, r *http.Request) error {
	var in client.KeyRequest
	if err := decode(x.body, &in); err != nil {
		return err
	}
	var f faults
	if in.Name == "" {
		f.add("/name", faultRequired, "")
	}
	f.line("/name", in.Name, keyNameRunesMax)
	role := office.Role(in.Role)
	switch role {
	case "":
		role = office.RoleOrganizer
	case office.RoleOrganizer, office.RoleScanner:
	default:
		f.add("/role", faultUnknown, "It is organizer or scanner.")
	}
	if err := f.err(); err != nil {
		return err
	}
	return writeKey(x, r, func(keep renderKey) (*office.Key, string, error) {
		return s.office.CreateKey(r.Context(), x.caller.Organizer, in.Name, role, keep)
	})
}

// rotateKey replaces a key; the old one ends at once. An Idempotency-Key promises that a repeat is
// answered, and a repeat with the very key that ended cannot be: whoever wants that promise asks
// with another key.
func (s *Server) rotateKey(x *exchange, r *http.Request) error {
	if err := decodeOptional(x.body, &struct{}{}); err != nil {
		return err
	}
	if r.PathValue("key") == x.caller.Key && len(r.Header[headerIdempotencyKey]) > 0 {
		return invalid(headerIdempotencyKey, faultNeedsAnotherKey,
			"A key that rotates itself cannot be asked with again, so no repeat could be answered: rotate it with another key, or without this header.")
	}
	return writeKey(x, r, func(keep renderKey) (*office.Key, string, error) {
		return s.office.RotateKey(r.Context(), x.caller.Organizer, r.PathValue("key"), keep)
	})
}

// revokeKey ends a key at once.
func (s *Server) revokeKey(x *exchange, r *http.Request) error {
	k, err := s.office.RevokeKey(r.Context(), x.caller.Organizer, r.PathValue("key"))
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, keyOf(k))
}
