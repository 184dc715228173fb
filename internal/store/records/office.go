package records

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// InsertOrganizer stores a new organizer and sets o.Created.
func (r *Records) InsertOrganizer(ctx context.Context, o *office.Organizer) error {
	return r.write(ctx, "insert organizer", nil, func(t *transaction) error { return t.insertOrganizer(o) })
}

// InsertOrganizerWithKey stores a new organizer and its first key in one transaction, and sets Created of both.
func (r *Records) InsertOrganizerWithKey(ctx context.Context, o *office.Organizer, k *office.Key) error {
	return r.write(ctx, "insert organizer with key", nil, func(t *transaction) error {
		if err := t.insertOrganizer(o); err != nil {
			return err
		}
		return t.insertKey(k)
	})
}

func (t *transaction) insertOrganizer(o *office.Organizer) error {
	o.Created = t.now
	_, err := t.exec("insert_organizer", o.ID, o.Name, int64(t.now))
	return err
}

// Organizers lists all organizers, by id.
func (r *Records) Organizers(ctx context.Context) ([]*office.Organizer, error) {
	all, err := list(ctx, r, "organizers", nil, func(row row) (*office.Organizer, error) {
		o := new(office.Organizer)
		return o, row.Scan(&o.ID, &o.Name, &o.Created)
	})
	return all, answer("organizers", err)
}

// InsertKey stores a new key and sets k.Created. ErrNotFound when there is no such organizer.
func (r *Records) InsertKey(ctx context.Context, k *office.Key, rec *inventory.Record) error {
	return r.write(ctx, "insert key", rec, func(t *transaction) error { return t.insertKey(k) })
}

func (t *transaction) insertKey(k *office.Key) error {
	if err := t.must("lock_organizer", k.Organizer); err != nil {
		return err
	}
	k.Created = t.now
	_, err := t.exec("insert_key", k.ID, k.Organizer, k.Name, string(k.Role), k.Hint, k.Hash[:], int64(t.now))
	return err
}

// RevokeKey ends a key and returns it; one that was ended before keeps its instant.
func (r *Records) RevokeKey(ctx context.Context, organizer, id string) (*office.Key, error) {
	var k *office.Key
	err := r.write(ctx, "revoke key", nil, func(t *transaction) error {
		if _, err := t.exec("revoke_key", int64(t.now), organizer, id); err != nil {
			return err
		}
		var err error
		k, err = scanKey(t.row("key", organizer, id))
		return err
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// RotateKey stores the new key and revokes the old one, both or neither. A key that is revoked
// already is ErrNotFound, so that of two rotations at once one wins and no spare key stays in force.
func (r *Records) RotateKey(ctx context.Context, organizer, old string, k *office.Key, rec *inventory.Record) error {
	return r.write(ctx, "rotate key", rec, func(t *transaction) error {
		if err := t.must("revoke_key", int64(t.now), organizer, old); err != nil {
			return err
		}
		return t.insertKey(k)
	})
}

// Key reads a key of an organizer, in force or not.
func (r *Records) Key(ctx context.Context, organizer, id string) (*office.Key, error) {
	k, err := scanKey(r.row(ctx, "key", organizer, id))
	return k, answer("key", err)
}

// KeyByHash reads the key in force with a hash.
func (r *Records) KeyByHash(ctx context.Context, hash [32]byte) (*office.Key, error) {
	k, err := scanKey(r.row(ctx, "key_by_hash", hash[:]))
	return k, answer("key by hash", err)
}

// Keys lists an organizer's keys, revoked ones too. Keys have no reference, so the page's is ignored.
func (r *Records) Keys(ctx context.Context, organizer string, p inventory.Page) ([]*office.Key, error) {
	all, err := list(ctx, r, "keys", []any{organizer, p.After, p.Limit}, scanKey)
	return all, answer("keys", err)
}

func scanKey(row row) (*office.Key, error) {
	k := new(office.Key)
	var hash []byte
	var revoked sql.NullInt64
	err := row.Scan(&k.ID, &k.Organizer, &k.Name, &k.Role, &k.Hint, &hash, &k.Created, &revoked)
	if err != nil {
		return nil, err
	}
	k.Revoked = inventory.Instant(revoked.Int64)
	if err := fill(k.Hash[:], hash); err != nil {
		return nil, err
	}
	return k, nil
}
