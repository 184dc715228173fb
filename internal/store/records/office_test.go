package records_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
)

func key(id, organizer string, hash byte) *office.Key {
	return &office.Key{
		ID: id, Organizer: organizer, Name: "Key " + id, Role: office.RoleScanner, Hint: "rk_abcd", Hash: [32]byte{hash, 255},
	}
}

func keyID(k *office.Key) string { return k.ID }

func TestOrganizersAreListedByID(t *testing.T) {
	h, ctx := open(t), t.Context()
	o := &office.Organizer{ID: "org_middle", Name: "Middle <b>"}
	must(t, h.InsertOrganizer(ctx, o))
	if o.Created == 0 {
		t.Error("the organizer was made at no time")
	}
	all, err := h.Organizers(ctx)
	must(t, err)
	wantIDs(t, ids(all, func(o *office.Organizer) string { return o.ID }), "org_middle org_north org_south")
	if *all[0] != *o {
		t.Errorf("got %+v, want %+v", all[0], o)
	}
}

func TestAKeyIsFoundByIDAndByHash(t *testing.T) {
	h, ctx := open(t), t.Context()
	k := key("key_1", north, 1)
	must(t, h.InsertKey(ctx, k, nil))
	if k.Created == 0 {
		t.Error("the key was made at no time")
	}
	byID, err := h.Key(ctx, north, "key_1")
	must(t, err)
	byHash, err := h.KeyByHash(ctx, k.Hash)
	must(t, err)
	if *byID != *k || *byHash != *k {
		t.Errorf("got %+v and %+v, want %+v", byID, byHash, k)
	}
	_, err = h.KeyByHash(ctx, [32]byte{9})
	wantNotFound(t, err)
}

func TestAKeyIsItsOrganizersAlone(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertKey(ctx, key("key_1", north, 1), nil))
	_, err := h.Key(ctx, south, "key_1")
	wantNotFound(t, err)
	_, err = h.RevokeKey(ctx, south, "key_1")
	wantNotFound(t, err)
	wantNotFound(t, h.RotateKey(ctx, south, "key_1", key("key_2", south, 2), nil))
	wantNotFound(t, h.InsertKey(ctx, key("key_3", "org_none", 3), nil))
	if n := h.count(t, "api_keys"); n != 1 {
		t.Errorf("%d keys, want 1", n)
	}
	_, err = h.KeyByHash(ctx, [32]byte{1, 255})
	must(t, err)
}

func TestARevokedKeyStaysAsItIsAndOpensNothing(t *testing.T) {
	h, ctx := open(t), t.Context()
	k := key("key_1", north, 1)
	must(t, h.InsertKey(ctx, k, nil))
	first, err := h.RevokeKey(ctx, north, "key_1")
	must(t, err)
	if first.Revoked < k.Created || first.Revoked > h.now(t) {
		t.Errorf("revoked at %d, not by the database's clock", first.Revoked)
	}
	second, err := records.New(later{h.db, day}).RevokeKey(ctx, north, "key_1")
	must(t, err)
	if *second != *first {
		t.Errorf("revoking again moved it: %+v, was %+v", second, first)
	}
	_, err = h.KeyByHash(ctx, k.Hash)
	wantNotFound(t, err)
	shown, err := h.Key(ctx, north, "key_1")
	must(t, err)
	if *shown != *first {
		t.Errorf("got %+v, want %+v", shown, first)
	}
}

func TestRotatingEndsTheOldKeyAsTheNewOneBegins(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertKey(ctx, key("key_1", north, 1), nil))
	fresh, rec := key("key_2", north, 2), record(1)
	must(t, h.RotateKey(ctx, north, "key_1", fresh, rec))
	wantRecorded(t, h.RotateKey(ctx, north, "key_1", key("key_3", north, 3), rec), rec)
	_, err := h.KeyByHash(ctx, [32]byte{1, 255})
	wantNotFound(t, err)
	got, err := h.KeyByHash(ctx, fresh.Hash)
	must(t, err)
	if *got != *fresh {
		t.Errorf("got %+v, want %+v", got, fresh)
	}
	old, err := h.Key(ctx, north, "key_1")
	must(t, err)
	if old.Revoked != fresh.Created {
		t.Errorf("the old key ended at %d, the new one began at %d", old.Revoked, fresh.Created)
	}
}

func TestARotationThatFailsLeavesTheOldKeyInForce(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertKey(ctx, key("key_1", north, 1), nil))
	must(t, h.InsertKey(ctx, key("key_2", north, 2), nil))
	if err := h.RotateKey(ctx, north, "key_1", key("key_3", north, 2), nil); err == nil {
		t.Fatal("two keys have one hash")
	}
	_, err := h.KeyByHash(ctx, [32]byte{1, 255})
	must(t, err)
}

func TestOfRotationsAtOnceOneWins(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertKey(ctx, key("key_0", north, 0), nil))
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			n := byte(i + 1)
			errs[i] = h.RotateKey(ctx, north, "key_0", key("key_"+string('0'+n), north, n), nil)
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, inventory.ErrNotFound):
			t.Error(err)
		}
	}
	if n := h.count(t, "api_keys WHERE revoked_at IS NULL"); won != 1 || n != 1 {
		t.Fatalf("%d rotations won and %d keys are in force, want 1 and 1", won, n)
	}
}

func TestKeysAreListedByPageRevokedOnesToo(t *testing.T) {
	h, ctx := open(t), t.Context()
	for i, id := range []string{"key_3", "key_1", "key_2"} {
		must(t, h.InsertKey(ctx, key(id, north, byte(i)), nil))
	}
	must(t, h.InsertKey(ctx, key("key_0", south, 9), nil))
	_, err := h.RevokeKey(ctx, north, "key_2")
	must(t, err)
	for _, c := range []struct {
		page inventory.Page
		want string
	}{
		{inventory.Page{Limit: 10}, "key_1 key_2 key_3"},
		{inventory.Page{Limit: 2}, "key_1 key_2"},
		{inventory.Page{Limit: 2, After: "key_2"}, "key_3"},
	} {
		list, err := h.Keys(ctx, north, c.page)
		must(t, err)
		wantIDs(t, ids(list, keyID), c.want)
	}
}

func TestAKeysRecordIsReplayed(t *testing.T) {
	h, ctx := open(t), t.Context()
	rec := record(1)
	must(t, h.InsertKey(ctx, key("key_1", north, 1), rec))
	wantRecorded(t, h.InsertKey(ctx, key("key_2", north, 2), rec), rec)
	if n := h.count(t, "api_keys"); n != 1 {
		t.Errorf("%d keys, want 1", n)
	}
}
