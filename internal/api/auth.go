package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// The headers that say who asks.
const (
	headerHoldToken  = "Hold-Token"
	headerOrderToken = "Order-Token"
	headerAccessCode = "Access-Code"
)

// secretCharactersMax bounds what is looked up as a key.
const secretCharactersMax = 128

// authorize finds out who asks and whether the route is for them.
func (x *exchange) authorize(r *http.Request) error {
	if err := x.readKey(r); err != nil {
		return err
	}
	access := x.route.Access
	if x.role == office.RoleScanner && access != AccessPublic {
		return refuse(inventory.Forbidden)
	}
	switch access {
	case AccessOrganizer:
		if x.role != office.RoleOrganizer {
			return refuse(codeUnauthorized)
		}
	case AccessHolder:
		return x.readToken(r, headerHoldToken)
	case AccessOrderer:
		return x.readToken(r, headerOrderToken)
	case AccessNone, AccessPublic, AccessBuyer:
	}
	return nil
}

// readKey looks a key up. None is no error; a bad one is, so that a typing error does not turn an
// organizer into the public.
func (x *exchange) readKey(r *http.Request) error {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return nil
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || secret == "" || len(secret) > secretCharactersMax {
		return refuse(codeUnauthorized)
	}
	// A client that has closed its side, and waits, is looked up like any other.
	key, err := x.server.office.Authenticate(x.server.ends.next(r), secret)
	if err != nil {
		return fmt.Errorf("api: authenticate: %w", err)
	}
	x.caller = inventory.Caller{Organizer: key.Organizer, Key: key.ID}
	x.role = key.Role
	return nil
}

// readToken checks a token's form. It may be missing where a key stands in for it.
func (x *exchange) readToken(r *http.Request, header string) error {
	token := r.Header.Get(header)
	if token == "" {
		if x.role == office.RoleOrganizer {
			return nil
		}
		return refuse(codeUnauthorized)
	}
	key, ok := inventory.HashToken(token)
	if !ok || len(r.Header[header]) > 1 {
		return refuse(codeUnauthorized)
	}
	x.holder = key
	return nil
}
