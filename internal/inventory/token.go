package inventory

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// crockford is the alphabet of every public id and token: no letter that is mistaken for a digit.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

const (
	tokenTimeBytes   = 4
	tokenRandomBytes = 16 // 128 bits: what a token's secrecy rests on
	keyBytes         = tokenTimeBytes + 16
	tokenCharacters  = 32 // 20 bytes in base32
	holdPrefix       = "hld_"
)

// HoldKey names a hold: the hash of its token. It can be shown to anybody (it is the hold's id),
// because finding a token for it means inverting 128 bits of SHA-256. The first four bytes are the
// second in which the token was made, so that keys made together stand together in an index.
type HoldKey [keyBytes]byte

// NewToken returns a fresh secret token: four bytes of time for locality, sixteen of randomness.
func NewToken() string {
	var b [keyBytes]byte
	binary.BigEndian.PutUint32(b[:tokenTimeBytes], uint32(time.Now().Unix()))
	rand.Read(b[tokenTimeBytes:]) // never fails: crypto/rand ends the process instead
	return crockford.EncodeToString(b[:])
}

// HashToken returns the key of the hold a token owns. ok is false when it is not a token at all.
func HashToken(token string) (key HoldKey, ok bool) {
	if len(token) != tokenCharacters {
		return key, false
	}
	var b [keyBytes]byte
	if n, err := crockford.Decode(b[:], []byte(token)); err != nil || n != keyBytes {
		return key, false
	}
	sum := sha256.Sum256(b[:])
	copy(key[:tokenTimeBytes], b[:tokenTimeBytes])
	copy(key[tokenTimeBytes:], sum[:])
	return key, true
}

// ID is the hold's public id.
func (k HoldKey) ID() string { return holdPrefix + crockford.EncodeToString(k[:]) }

// IsZero reports whether the key names no hold.
func (k HoldKey) IsZero() bool { return k == HoldKey{} }

// ParseHoldID reads a public hold id.
func ParseHoldID(id string) (key HoldKey, ok bool) {
	if len(id) != len(holdPrefix)+tokenCharacters || id[:len(holdPrefix)] != holdPrefix {
		return key, false
	}
	n, err := crockford.Decode(key[:], []byte(id[len(holdPrefix):]))
	return key, err == nil && n == keyBytes
}

// OrderToken derives the token of the order that a hold becomes. Whoever has the hold's token can
// always make it again, so nothing secret is kept and every repeat of a confirmation can answer it.
func OrderToken(holdToken string) string {
	sum := sha256.Sum256([]byte("rowlock order token\x00" + holdToken))
	return crockford.EncodeToString(sum[:keyBytes])
}

// TokenHash is how order tokens, keys and access codes are kept: SHA-256 over a purpose and the secret.
func TokenHash(purpose, secret string) [sha256.Size]byte {
	return sha256.Sum256([]byte(purpose + "\x00" + secret))
}

// Prefixes of public ids.
const (
	PrefixEvent     = "evt_"
	PrefixVenue     = "ven_"
	PrefixMap       = "map_"
	PrefixOrder     = "ord_"
	PrefixTicket    = "tkt_"
	PrefixOrganizer = "org_"
	PrefixKey       = "key_"
)

// NewID returns a fresh public id: the prefix and a time-ordered UUID in base32.
func NewID(prefix string) string {
	u, err := uuid.NewV7()
	if err != nil {
		panic(fmt.Sprintf("inventory: no randomness: %v", err)) // crypto/rand cannot fail
	}
	return prefix + crockford.EncodeToString(u[:])
}

// IsID reports whether s has the form of what NewID returns for a prefix.
func IsID(prefix, s string) bool {
	body, ok := strings.CutPrefix(s, prefix)
	if !ok || len(body) != crockford.EncodedLen(len(uuid.UUID{})) {
		return false
	}
	u, err := crockford.DecodeString(body) // passes over line breaks, so that the length counts
	return err == nil && len(u) == len(uuid.UUID{})
}

// TicketID names the i-th unit of an order, counted from 1: tickets need no randomness of their own,
// and a ticket tells its order.
func TicketID(order string, i int) string {
	return fmt.Sprintf("%s%s-%02d", PrefixTicket, strings.TrimPrefix(order, PrefixOrder), i)
}

// OrderOfTicket is the order that a ticket id belongs to.
func OrderOfTicket(ticket string) (order string, ok bool) {
	rest, ok := strings.CutPrefix(ticket, PrefixTicket)
	if !ok {
		return "", false
	}
	body, _, ok := strings.Cut(rest, "-")
	return PrefixOrder + body, ok
}
