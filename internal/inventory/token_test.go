package inventory

import (
	"bytes"
	"strings"
	"testing"
)

func TestAHoldsKeyIsTheHashOfItsTokenAndItsId(t *testing.T) {
	token := NewToken()
	key, ok := HashToken(token)
	if !ok || key.IsZero() || strings.Contains(key.ID(), token[8:]) {
		t.Fatalf("%q %v", key.ID(), ok)
	}
	back, ok := ParseHoldID(key.ID())
	if !ok || back != key {
		t.Errorf("%q reads back as %q", key.ID(), back.ID())
	}
	other, _ := HashToken(NewToken())
	if other == key {
		t.Error("two tokens have one key")
	}
	for _, bad := range []string{"", "hld_", token[1:], token + "0", strings.Repeat("u", 32), strings.ToUpper(token), " " + token[1:], strings.Repeat("é", 16)} {
		if _, ok := HashToken(bad); ok {
			t.Errorf("%q is taken for a token", bad)
		}
		if _, ok := ParseHoldID("hld_" + bad); ok {
			t.Errorf("hld_%s is taken for an id", bad)
		}
	}
}

func TestAnOrdersTokenIsTheSameEachTimeAndNotTheHolds(t *testing.T) {
	token := NewToken()
	if again := OrderToken(token); again != OrderToken(token) || again == token || OrderToken(token) == OrderToken(NewToken()) {
		t.Error("order tokens")
	}
	if _, ok := HashToken(OrderToken(token)); !ok {
		t.Error("an order token has not the form of a token")
	}
}

func TestIdsAreToldByTheirForm(t *testing.T) {
	id := NewID(PrefixEvent)
	if !IsID(PrefixEvent, id) {
		t.Errorf("%q is refused", id)
	}
	body := strings.TrimPrefix(id, PrefixEvent)
	for _, bad := range []string{
		"", PrefixEvent, body, NewID(PrefixVenue), id[:len(id)-1], id + "0", PrefixEvent + strings.ToUpper(body),
		PrefixEvent + body[:25] + "\n", PrefixEvent + body[:25] + "u", PrefixEvent + "\x00" + body[1:], " " + id,
	} {
		if IsID(PrefixEvent, bad) {
			t.Errorf("%q passes for an event's id", bad)
		}
	}
}

func TestATicketTellsItsOrder(t *testing.T) {
	order := NewID(PrefixOrder)
	if got, ok := OrderOfTicket(TicketID(order, 7)); !ok || got != order {
		t.Errorf("%q %v", got, ok)
	}
	for _, bad := range []string{"", "tkt_", "tkt_x", order} {
		if got, ok := OrderOfTicket(bad); ok {
			t.Errorf("%q is a ticket of %q", bad, got)
		}
	}
}

func TestOnlyTheClientsKeyOpensASealedAnswer(t *testing.T) {
	i := &Idempotency{ID: CommandID{1}, Secret: "0123456789abcdef"}
	sealed := i.Seal([]byte("secret"))
	if bytes.Contains(sealed, []byte("secret")) {
		t.Error("not sealed")
	}
	if plain, err := i.Open(sealed); err != nil || string(plain) != "secret" {
		t.Errorf("%q %v", plain, err)
	}
	for name, other := range map[string]*Idempotency{
		"another key": {ID: i.ID, Secret: "0123456789abcdeg"}, "another command": {ID: CommandID{2}, Secret: i.Secret},
	} {
		if _, err := other.Open(sealed); err == nil {
			t.Errorf("%s opens it", name)
		}
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := i.Open(sealed); err == nil {
		t.Error("a damaged answer opens")
	}
	if _, err := i.Open(sealed[:4]); err == nil {
		t.Error("a cut answer opens")
	}
}

func TestPositionsReadBack(t *testing.T) {
	p := Position{Epoch: "k3", Version: 1042}
	if got, ok := ParsePosition(p.String()); !ok || got != p {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"", "-", "k3", "k3-", "-5", "k3--5", "k3-x", strings.Repeat("k", 40) + "-1", "k3-99999999999999999999"} {
		if got, ok := ParsePosition(bad); ok {
			t.Errorf("%q reads as %+v", bad, got)
		}
	}
}
