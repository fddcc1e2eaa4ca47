package engine

// TenantDay is a day of a tenant.
type TenantDay struct {
	Tenant uint32
	Day    uint32
}
