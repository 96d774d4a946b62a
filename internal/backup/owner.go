// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"time"
)

// OwnerName is the name of the object in a target's folder that says whose it is.
const OwnerName = "owner.json"

// Owner says whose a target's folder in a store is. Two hubs that write to one folder would each remove what the other
// keeps.
type Owner struct {
	// Hub is the UID of namespace kube-system of the hub's cluster. It is empty where the object cannot be read: then the
	// folder is nobody's that is known.
	Hub string `json:"hub"`
	// Claim is another one each time that a hub takes the folder: whoever says that one may be taken over does not say it
	// of those that come later.
	Claim string `json:"claim"`
	// Policy, namespace and name, and the Server that wrote this, and At what time by its clock, for people.
	Policy string    `json:"policy"`
	Server string    `json:"server"`
	At     time.Time `json:"at"`
}

// OwnerKey is the key of the Owner of a target's folder.
func OwnerKey(folder string) string { return path.Join(folder, OwnerName) }

// Encode makes the owner's object.
func (o Owner) Encode() ([]byte, error) {
	content, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("say whose a folder of backups is: %w", err)
	}
	return append(content, '\n'), nil
}

// DecodeOwner reads an owner's object. One that cannot be read is of no Hub; its Claim is made of what is there.
func DecodeOwner(content []byte) Owner {
	var o Owner
	if err := json.Unmarshal(content, &o); err != nil || o.Hub == "" || o.Claim == "" {
		sum := sha256.Sum256(content)
		return Owner{Claim: "unreadable-" + hex.EncodeToString(sum[:6])}
	}
	return o
}
