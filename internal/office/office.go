// Package office knows the people behind a sale: organizers, their API keys and roles. A key is
// shown once, kept as a hash, and tells whose things the caller may see.
package office

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"strings"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Role is what a key may do.
type Role string

// The roles. A scanner may look at events and, with tickets, admit.
const (
	RoleOrganizer Role = "organizer"
	RoleScanner   Role = "scanner"
)

// secretPrefix lets leak scanners find keys.
const secretPrefix = "rk_"

// hintCharacters of a secret are kept in the clear, to tell keys apart.
const hintCharacters = 7

// Organizer is who sells.
type Organizer struct {
	ID      string
	Name    string
	Created inventory.Instant
}

// Key is an API key without its secret.
type Key struct {
	ID        string
	Organizer string
	Name      string
	Role      Role
	Hint      string
	Hash      [32]byte
	Created   inventory.Instant
	Revoked   inventory.Instant // 0: in force
}

// Records keeps organizers and keys. Writers take an optional record, as in inventory.Catalogue.
type Records interface {
	InsertOrganizer(ctx context.Context, o *Organizer) error
	// InsertOrganizerWithKey stores an organizer and its first key, both or neither.
	InsertOrganizerWithKey(ctx context.Context, o *Organizer, k *Key) error
	// Organizers lists all, by id.
	Organizers(ctx context.Context) ([]*Organizer, error)
	InsertKey(ctx context.Context, k *Key, rec *inventory.Record) error
	// RevokeKey sets Revoked once; a key already revoked stays as it is. inventory.ErrNotFound for another organizer's.
	RevokeKey(ctx context.Context, organizer, id string) (*Key, error)
	// RotateKey inserts the new key and revokes the old one, in one transaction.
	RotateKey(ctx context.Context, organizer, old string, k *Key, rec *inventory.Record) error
	Key(ctx context.Context, organizer, id string) (*Key, error)
	// KeyByHash returns a key in force, or inventory.ErrNotFound.
	KeyByHash(ctx context.Context, hash [32]byte) (*Key, error)
	Keys(ctx context.Context, organizer string, p inventory.Page) ([]*Key, error)
}

// ErrUnknownKey is answered for a key that is not in force.
var ErrUnknownKey = errors.New("office: unknown key")

// Office manages organizers and keys. Safe for concurrent use.
type Office struct{ records Records }

// New makes an Office.
func New(r Records) *Office { return &Office{records: r} }

// NewSecret returns a key's secret, 128 bits or more of randomness.
func NewSecret() string { return secretPrefix + strings.ToLower(rand.Text()) }

// HashSecret is how a secret is kept.
func HashSecret(secret string) [32]byte { return inventory.TokenHash("rowlock api key", secret) }

// Authenticate finds the key with a secret. ErrUnknownKey when there is none in force.
func (o *Office) Authenticate(ctx context.Context, secret string) (*Key, error) {
	hash := HashSecret(secret)
	k, err := o.records.KeyByHash(ctx, hash)
	if errors.Is(err, inventory.ErrNotFound) {
		return nil, ErrUnknownKey
	}
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(k.Hash[:], hash[:]) != 1 {
		return nil, ErrUnknownKey
	}
	return k, nil
}

// CreateOrganizer makes an organizer.
func (o *Office) CreateOrganizer(ctx context.Context, name string) (*Organizer, error) {
	org := &Organizer{ID: inventory.NewID(inventory.PrefixOrganizer), Name: name}
	return org, o.records.InsertOrganizer(ctx, org)
}

// CreateOrganizerWithKey makes an organizer and its first key, both or neither, and returns the key's
// secret, which is shown to nobody again.
func (o *Office) CreateOrganizerWithKey(ctx context.Context, name, keyName string, role Role) (*Organizer, *Key, string, error) {
	org := &Organizer{ID: inventory.NewID(inventory.PrefixOrganizer), Name: name}
	k, secret := newKey(org.ID, keyName, role)
	if err := o.records.InsertOrganizerWithKey(ctx, org, k); err != nil {
		return nil, nil, "", err
	}
	return org, k, secret, nil
}

// Organizers lists all organizers.
func (o *Office) Organizers(ctx context.Context) ([]*Organizer, error) {
	return o.records.Organizers(ctx)
}

// CreateKey makes a key and returns its secret, which is shown to nobody again. render turns both
// into the record of an Idempotency-Key; nil for none.
func (o *Office) CreateKey(ctx context.Context, organizer, name string, role Role, render func(*Key, string) (*inventory.Record, error)) (*Key, string, error) {
	k, secret := newKey(organizer, name, role)
	rec, err := recordOf(k, secret, render)
	if err != nil {
		return nil, "", err
	}
	return k, secret, o.records.InsertKey(ctx, k, rec)
}

// RotateKey replaces a key by a new one of the same name and role and revokes the old.
func (o *Office) RotateKey(ctx context.Context, organizer, id string, render func(*Key, string) (*inventory.Record, error)) (*Key, string, error) {
	old, err := o.records.Key(ctx, organizer, id)
	if err != nil {
		return nil, "", err
	}
	k, secret := newKey(organizer, old.Name, old.Role)
	rec, err := recordOf(k, secret, render)
	if err != nil {
		return nil, "", err
	}
	return k, secret, o.records.RotateKey(ctx, organizer, id, k, rec)
}

// RevokeKey ends a key at once.
func (o *Office) RevokeKey(ctx context.Context, organizer, id string) (*Key, error) {
	return o.records.RevokeKey(ctx, organizer, id)
}

// Keys lists an organizer's keys.
func (o *Office) Keys(ctx context.Context, organizer string, p inventory.Page) ([]*Key, error) {
	return o.records.Keys(ctx, organizer, p)
}

func newKey(organizer, name string, role Role) (*Key, string) {
	secret := NewSecret()
	return &Key{
		ID: inventory.NewID(inventory.PrefixKey), Organizer: organizer, Name: name, Role: role,
		Hint: secret[:hintCharacters], Hash: HashSecret(secret),
	}, secret
}

func recordOf(k *Key, secret string, render func(*Key, string) (*inventory.Record, error)) (*inventory.Record, error) {
	if render == nil {
		return nil, nil
	}
	return render(k, secret)
}
