package inventory

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Idempotency is an Idempotency-Key as the API saw it: ID hashes caller, method, path and key, Body
// the request's body. Secret is the client's key, from which the encryption of a token is derived; it is kept nowhere.
type Idempotency struct {
	ID     CommandID
	Body   [32]byte
	Secret string
}

// Once is an Idempotency for paperwork: Render turns what was made into the answer to keep.
// A replay comes back as a *Recorded error.
type Once struct {
	Idempotency
	Render func(made any) (answer, sealed []byte, err error)
}

// Seal encrypts a secret so that only whoever has the client's key can open it again: AES-256-GCM
// under a key derived by HKDF-SHA256, bound to the command.
func (i *Idempotency) Seal(plain []byte) []byte {
	aead := i.aead()
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	rand.Read(nonce)
	return aead.Seal(nonce, nonce, plain, i.ID[:])
}

// Open decrypts what Seal made. An error means another key, or a damaged record.
func (i *Idempotency) Open(sealed []byte) ([]byte, error) {
	aead := i.aead()
	if len(sealed) < aead.NonceSize() {
		return nil, errors.New("inventory: the sealed answer is too short")
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], i.ID[:])
	if err != nil {
		return nil, fmt.Errorf("inventory: sealed answer: %w", err)
	}
	return plain, nil
}

func (i *Idempotency) aead() cipher.AEAD {
	key, err := hkdf.Key(sha256.New, []byte(i.Secret), i.ID[:], "rowlock idempotent answer", 32)
	if err != nil {
		panic("inventory: hkdf: " + err.Error()) // the length is a constant that fits
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("inventory: aes: " + err.Error()) // the key is 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("inventory: gcm: " + err.Error()) // the block is AES
	}
	return aead
}

// command fills a command's identity: the client's when there is one, else a fresh one, so that the
// combiner can send it again.
func (i *Idempotency) command() (id CommandID, body [32]byte) {
	if i != nil {
		return i.ID, i.Body
	}
	rand.Read(id[:])
	return id, body
}
