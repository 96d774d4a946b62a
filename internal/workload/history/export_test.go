// SPDX-License-Identifier: Apache-2.0

package history

// SearchRegisters lets a test say how long a search may take.
var SearchRegisters = searchRegisters
