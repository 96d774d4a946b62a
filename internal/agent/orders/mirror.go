// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"encoding/json"
	"fmt"
	"strings"

	"geosql.dev/operator/internal/transfer"
)

// Prefixes of the keys of a subscription in the Secrets of its subscriber and of its distributor.
const (
	mirrorPrefix = "mirror."
	readerPrefix = "reader."
	// manualPrefix is that of a mirror whose files a person brings: a sidecar of an earlier release would fetch them, and
	// passes the key over.
	manualPrefix = "manual."
)

// Mirror tells the sidecar of a subscriber which snapshots it copies from the sidecar of the distributor.
type Mirror struct {
	// Subscription that it is for.
	Subscription string `json:"subscription"`
	// Source is the distributor's sidecar, host:port; its certificate is verified against CA (PEM) for Host, the
	// distributor's name.
	Source string `json:"source"`
	Host   string `json:"host"`
	CA     []byte `json:"ca"`
	// Token is shown to the sidecar of the distributor.
	Token string `json:"token"`
	// Folder of the publication below the snapshot folder's "unc", compared without case.
	Folder string `json:"folder"`
	// Generation is when the snapshot agent last succeeded, by the distributor's clock, ISO 8601 without a zone; snapshots
	// that began later may not be whole. Empty while there is none.
	Generation string `json:"generation"`
	// Manual is the folder, below that for what people bring, that has the files: none is fetched. Empty where all are.
	Manual string `json:"manual,omitempty"`
	// Ended has the sidecar remove what it brought of the folder, once; Generation is empty then. It is for backups:
	// snapshots stay.
	Ended bool `json:"ended,omitempty"`
	// Transfers bound what the subscriber's sidecar receives, over all its mirrors; none for the defaults.
	Transfers transfer.Settings `json:"transfers,omitzero"`
}

// Reader tells the sidecar of a distributor who may read a publication's snapshots.
type Reader struct {
	Subscription string `json:"subscription"`
	Folder       string `json:"folder"`
	Token        string `json:"token"`
	// Packed has chunks be packed once, and kept so for all such readers, as long as the snapshot is there.
	Packed bool `json:"packed,omitempty"`
	// Backup is the folder below Folder, named by a time as yyyymmddhhmmss, into which the server's own engine writes a
	// backup: the sidecar makes it, and removes those of backups before. Empty for snapshots, whose folders engines make.
	Backup string `json:"backup,omitempty"`
	// Attempt is what stands of that backup. Nothing of Folder is served before its Set is known, and then Backup alone.
	Attempt Attempt `json:"attempt,omitzero"`
	// Ended has the sidecar remove Folder with all backups in it.
	Ended bool `json:"ended,omitempty"`
	// Transfers bound what the distributor's sidecar sends, over all readers; none for the defaults.
	Transfers transfer.Settings `json:"transfers,omitzero"`
}

// Attempt is what a manager notes of a backup with which a subscriber is to begin, so that another manager goes on from
// there. A sidecar goes by Set alone.
type Attempt struct {
	// Set is the identity of the backup set that the engine has written, once that is known to be whole: nothing is
	// written there any more then.
	Set string `json:"set,omitempty"`
	// Articles are the publication and the articles that the backup is for, by the publisher's numbers.
	Articles string `json:"articles,omitempty"`
	// Failed is how many backups in a row came to nothing, Why is why the last one did, and NotBefore, in RFC 3339, when
	// another one may be begun; Retention is for how many hours the distributor kept then what comes after a backup.
	Failed    int    `json:"failed,omitempty"`
	Why       string `json:"why,omitempty"`
	NotBefore string `json:"notBefore,omitempty"`
	Retention int    `json:"retention,omitempty"`
}

// MirrorKey is the key of a Mirror whose files are fetched.
func MirrorKey(subscription string) string { return mirrorPrefix + subscription }

// Key of the order.
func (m Mirror) Key() string {
	if m.Manual != "" {
		return manualPrefix + m.Subscription
	}
	return MirrorKey(m.Subscription)
}

// ReaderKey is the key of a Reader.
func ReaderKey(subscription string) string { return readerPrefix + subscription }

// Encode makes the value of the key.
func (m Mirror) Encode() ([]byte, error) { return encode("a mirror", m) }

// Encode makes the value of the key.
func (r Reader) Encode() ([]byte, error) { return encode("a mirror", r) }

func encode(what string, value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the orders of %s: %w", what, err)
	}
	return data, nil
}

// Mirrors reads all Mirrors of a Secret. What cannot be read, or is not under the key that it has to be, is left out
// and said in the errors.
func Mirrors(data map[string][]byte) (all []Mirror, errs []error) {
	for _, prefix := range []string{mirrorPrefix, manualPrefix} {
		some, bad := decode[Mirror](data, prefix)
		errs = append(errs, bad...)
		for _, m := range some {
			if (m.Manual != "") != (prefix == manualPrefix) {
				errs = append(errs, fmt.Errorf("the mirror of %s is not under key %s", m.Subscription, m.Key()))
				continue
			}
			all = append(all, m)
		}
	}
	return all, errs
}

// Readers reads all Readers of a Secret. What cannot be read is left out and said in the errors.
func Readers(data map[string][]byte) ([]Reader, []error) { return decode[Reader](data, readerPrefix) }

func decode[T any](data map[string][]byte, prefix string) (all []T, errs []error) {
	for key, value := range data {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		var one T
		if err := json.Unmarshal(value, &one); err != nil {
			// The decoder's message may quote a token.
			errs = append(errs, fmt.Errorf("key %s is no JSON of the known form", key))
			continue
		}
		all = append(all, one)
	}
	return all, errs
}

// Of reads what a Secret has for a subscription; nil is nothing, or nothing that can be read.
func Of(data map[string][]byte, subscription string) (*Mirror, *Reader) {
	var mirror *Mirror
	var reader *Reader
	own := map[string][]byte{}
	for _, key := range []string{MirrorKey(subscription), manualPrefix + subscription} {
		own[key] = data[key]
	}
	mirrors, _ := Mirrors(own)
	if len(mirrors) == 1 {
		mirror = &mirrors[0]
	}
	readers, _ := Readers(map[string][]byte{ReaderKey(subscription): data[ReaderKey(subscription)]})
	if len(readers) == 1 {
		reader = &readers[0]
	}
	return mirror, reader
}
