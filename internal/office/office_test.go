package office_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

func open(t *testing.T) (*office.Office, *office.Organizer) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "office.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	o := office.New(records.New(store))
	org, err := o.CreateOrganizer(t.Context(), "Test Organizer")
	if err != nil {
		t.Fatal(err)
	}
	return o, org
}

func TestAKeyOpensUntilItIsRevokedAndIsKeptAsAHash(t *testing.T) {
	o, org := open(t)
	ctx := t.Context()
	key, secret, err := o.CreateKey(ctx, org.ID, "till", office.RoleScanner, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(secret, key.Hint) || len(secret) < 26 || key.Hash != office.HashSecret(secret) {
		t.Errorf("secret of %d characters, hint %q", len(secret), key.Hint)
	}
	found, err := o.Authenticate(ctx, secret)
	if err != nil || found.ID != key.ID || found.Role != office.RoleScanner || found.Organizer != org.ID {
		t.Fatalf("%+v %v", found, err)
	}
	for _, wrong := range []string{"", secret[1:], secret + "x", strings.ToUpper(secret), office.NewSecret()} {
		if _, err := o.Authenticate(ctx, wrong); !errors.Is(err, office.ErrUnknownKey) {
			t.Errorf("%q opens: %v", wrong, err)
		}
	}
	for range 2 {
		if k, err := o.RevokeKey(ctx, org.ID, key.ID); err != nil || k.Revoked == 0 {
			t.Errorf("%+v %v", k, err)
		}
	}
	if _, err := o.Authenticate(ctx, secret); !errors.Is(err, office.ErrUnknownKey) {
		t.Errorf("a revoked key opens: %v", err)
	}
}

func TestARotatedKeyHasOneSuccessorOfItsKind(t *testing.T) {
	o, org := open(t)
	ctx := t.Context()
	key, secret, err := o.CreateKey(ctx, org.ID, "backend", office.RoleOrganizer, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, fresh, err := o.RotateKey(ctx, org.ID, key.ID, nil)
	if err != nil || next.Name != "backend" || next.Role != office.RoleOrganizer || fresh == secret {
		t.Fatalf("%+v %v", next, err)
	}
	if _, err := o.Authenticate(ctx, secret); !errors.Is(err, office.ErrUnknownKey) {
		t.Errorf("the old secret opens: %v", err)
	}
	if _, err := o.Authenticate(ctx, fresh); err != nil {
		t.Errorf("the new secret does not: %v", err)
	}
	if _, _, err := o.RotateKey(ctx, org.ID, key.ID, nil); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("rotating again: %v", err)
	}
}

func TestAnothersKeysDoNotExist(t *testing.T) {
	o, org := open(t)
	ctx := t.Context()
	other, err := o.CreateOrganizer(ctx, "Other Organizer")
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := o.CreateKey(ctx, org.ID, "backend", office.RoleOrganizer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.RevokeKey(ctx, other.ID, key.ID); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("revoked by another: %v", err)
	}
	if _, _, err := o.RotateKey(ctx, other.ID, key.ID, nil); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("rotated by another: %v", err)
	}
	keys, err := o.Keys(ctx, other.ID, inventory.Page{Limit: 10})
	if err != nil || len(keys) != 0 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	if all, err := o.Organizers(ctx); err != nil || len(all) != 2 {
		t.Errorf("%d organizers, %v", len(all), err)
	}
}

func TestAKeyIsNotMadeWhenItsAnswerCannotBeKept(t *testing.T) {
	o, org := open(t)
	fault := errors.New("no answer")
	_, _, err := o.CreateKey(t.Context(), org.ID, "x", office.RoleOrganizer, func(*office.Key, string) (*inventory.Record, error) { return nil, fault })
	if !errors.Is(err, fault) {
		t.Fatal(err)
	}
	if keys, err := o.Keys(t.Context(), org.ID, inventory.Page{Limit: 10}); err != nil || len(keys) != 0 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}
