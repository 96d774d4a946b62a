// SPDX-License-Identifier: Apache-2.0

package engine

func installViews(r *Registry) {}

func installCatalogProcedures(r *Registry) {}
