// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"io"
	"os"

	"geosql.dev/standin/sqlerr"
)

// streamFailed is the error of an agent that cannot write the file by way of which it streams a large value.
const streamFailed = 21100

// stream has the values that are larger than -OledbStreamThreshold go by way of a file each, where
// -UseOledbStreaming asks for that: what is read back is sent. A file that cannot be written ends the agent
// (docs/relational-databases/replication/agents/replication-distribution-agent.md, -UseOledbStreaming).
func (d *delivery) stream(values []any) error {
	if !d.args.given("-UseOledbStreaming") {
		return nil
	}
	threshold := d.args.num("-OledbStreamThreshold", 16384)
	for i, v := range values {
		var err error
		switch v := v.(type) {
		case []byte:
			if len(v) > threshold {
				values[i], err = throughFile(v)
			}
		case string:
			if len(v) > threshold {
				var text []byte
				text, err = throughFile([]byte(v))
				values[i] = string(text)
			}
		}
		if err != nil {
			return fmt.Errorf("%w (%w)", &sqlerr.Error{Number: streamFailed, Class: 16, State: 1, Message: fmt.Sprintf(
				"The distribution agent failed to create temporary files in '%s' directory.", os.TempDir())}, err)
		}
	}
	return nil
}

// throughFile is a value after it was written into a file of the temporary folder, which is gone then.
func throughFile(value []byte) ([]byte, error) {
	file, err := os.CreateTemp("", "*.lob")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(value); err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(file, 0, int64(len(value))))
}
