// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/election/keeper"
)

// FileMemory keeps what an agent remembers of one group in a file on the data volume, in a pod that was started before
// agents had a volume of their own.
type FileMemory struct{ Path string }

// Load implements keeper.Memory.
func (m FileMemory) Load() (keeper.Remembered, error) {
	content, err := os.ReadFile(m.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return keeper.Remembered{}, nil
	}
	var r keeper.Remembered
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return keeper.Remembered{}, fmt.Errorf("read the promises in %s: %w", m.Path, err)
	}
	return r, nil
}

// Save implements keeper.Memory: the file is replaced as a whole, and file and folder are on disk.
func (m FileMemory) Save(r keeper.Remembered) error {
	content, err := json.Marshal(r)
	if err == nil {
		err = durable.Replace(m.Path, content)
	}
	if err != nil {
		return fmt.Errorf("keep the promises: %w", err)
	}
	return nil
}
