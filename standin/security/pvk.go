// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"crypto/rand"
	"crypto/rc4"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/binary"
	"math/big"
	"slices"
)

// A PVK file is a header, a salt and a PRIVATEKEYBLOB ([MS-WCCE] and the Windows SDK's wincrypt.h describe the blob:
// BLOBHEADER, RSAPUBKEY "RSA2", then modulus, primes, exponents and coefficient, all little endian). With a password
// everything after the BLOBHEADER is RC4-encrypted by the first 16 bytes of SHA-1 of salt and password; "RSA2" in
// clear tells that the password was right.
const (
	pvkMagic       = 0xb0b5f11e
	pvkHeaderSize  = 24
	blobHeaderSize = 8
	pvkSaltSize    = 16
	rsa2Magic      = 0x32415352
	privateBlob    = 7
	keyExchange    = 0x0000a400 // CALG_RSA_KEYX
)

// parsePVK reads a PVK file. Errors: 15297 for data of another form, 15465 for a wrong or missing password.
func parsePVK(data []byte, password string) (*rsa.PrivateKey, error) {
	if len(data) < pvkHeaderSize || binary.LittleEndian.Uint32(data) != pvkMagic {
		return nil, failure(15297, 3)
	}
	encrypted := binary.LittleEndian.Uint32(data[12:])
	saltSize := int64(binary.LittleEndian.Uint32(data[16:]))
	keySize := int64(binary.LittleEndian.Uint32(data[20:]))
	if saltSize > 64 || keySize > 1<<16 || int64(len(data)) < pvkHeaderSize+saltSize+keySize ||
		keySize < blobHeaderSize+12 {
		return nil, failure(15297, 4)
	}
	salt := data[pvkHeaderSize : pvkHeaderSize+saltSize]
	blob := slices.Clone(data[pvkHeaderSize+saltSize : pvkHeaderSize+saltSize+keySize])
	if encrypted != 0 {
		if password == "" {
			return nil, failure(15465, 1)
		}
		crypt(blob[blobHeaderSize:], salt, password)
	}
	if binary.LittleEndian.Uint32(blob[blobHeaderSize:]) != rsa2Magic {
		return nil, failure(15465, 2)
	}
	return parseBlob(blob[blobHeaderSize:])
}

func parseBlob(b []byte) (*rsa.PrivateKey, error) {
	bits := int(binary.LittleEndian.Uint32(b[4:]))
	exponent := int(binary.LittleEndian.Uint32(b[8:]))
	n, half := bits/8, bits/16
	b = b[12:]
	if bits%16 != 0 || bits <= 0 || len(b) < 2*n+5*half {
		return nil, failure(15464, 2)
	}
	take := func(size int) *big.Int {
		part := slices.Clone(b[:size])
		b = b[size:]
		slices.Reverse(part)
		return new(big.Int).SetBytes(part)
	}
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: take(n), E: exponent}}
	p, q := take(half), take(half)
	take(half)
	take(half)
	take(half)
	key.D, key.Primes = take(n), []*big.Int{p, q}
	if err := key.Validate(); err != nil {
		return nil, failure(15297, 5)
	}
	key.Precompute()
	return key, nil
}

// formatPVK writes a PVK file; without a password the key is in clear.
func formatPVK(key *rsa.PrivateKey, password string) []byte {
	n := (key.N.BitLen() + 7) / 8
	half := n / 2
	var blob bytes.Buffer
	blob.Write([]byte{privateBlob, 2, 0, 0})
	put32 := func(b *bytes.Buffer, v uint32) { b.Write(binary.LittleEndian.AppendUint32(nil, v)) }
	put32(&blob, keyExchange)
	put32(&blob, rsa2Magic)
	put32(&blob, uint32(n*8))
	put32(&blob, uint32(key.E))
	number := func(v *big.Int, size int) {
		b := v.FillBytes(make([]byte, size))
		slices.Reverse(b)
		blob.Write(b)
	}
	p, q := key.Primes[0], key.Primes[1]
	one := big.NewInt(1)
	number(key.N, n)
	number(p, half)
	number(q, half)
	number(new(big.Int).Mod(key.D, new(big.Int).Sub(p, one)), half)
	number(new(big.Int).Mod(key.D, new(big.Int).Sub(q, one)), half)
	number(new(big.Int).ModInverse(q, p), half)
	number(key.D, n)

	var out bytes.Buffer
	salt := []byte{}
	encrypted := uint32(0)
	body := blob.Bytes()
	if password != "" {
		encrypted = 1
		salt = make([]byte, pvkSaltSize)
		rand.Read(salt)
		crypt(body[blobHeaderSize:], salt, password)
	}
	put32(&out, pvkMagic)
	put32(&out, 0)
	put32(&out, 1) // AT_KEYEXCHANGE
	put32(&out, encrypted)
	put32(&out, uint32(len(salt)))
	put32(&out, uint32(len(body)))
	out.Write(salt)
	out.Write(body)
	return out.Bytes()
}

// crypt encrypts or decrypts in place.
func crypt(b, salt []byte, password string) {
	h := sha1.New()
	h.Write(salt)
	h.Write([]byte(password))
	cipher, err := rc4.NewCipher(h.Sum(nil)[:16])
	if err != nil {
		panic("security: RC4 with 16 bytes: " + err.Error())
	}
	cipher.XORKeyStream(b, b)
}
