// SPDX-License-Identifier: Apache-2.0

package files

import "context"

// enter waits until no other mirror copies into a folder.
func (m *Mirrors) enter(ctx context.Context, folder string) (leave func(), err error) {
	turn := m.turn(folder)
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enterNow is enter for who does not wait.
func (m *Mirrors) enterNow(folder string) (leave func(), entered bool) {
	turn := m.turn(folder)
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, true
	default:
		return nil, false
	}
}

// turn is held by who copies into a folder, or removes something there.
func (m *Mirrors) turn(folder string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.folders[folder] == nil {
		m.folders[folder] = make(chan struct{}, 1)
	}
	return m.folders[folder]
}
