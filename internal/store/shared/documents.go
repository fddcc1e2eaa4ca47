package shared

import (
	"context"

	"github.com/andonhq/andon"
)

// Document is what a database stores of a record. One without data was deleted.
type Document struct {
	Version      int64 // a time in µs, or more; it only ever rises
	Due          andon.Time
	Data         string
	Incarnations int // of a tenant that was deleted: how many incarnations have ended
}

// Live returns the version of a record that exists; 0 where it does not.
func (d *Document) Live() uint64 {
	if d.Data == "" {
		return 0
	}
	return uint64(d.Version)
}

// Into fills in what is stored of a record.
func (d *Document) Into(r *andon.Record) {
	r.Version, r.Due, r.Data = uint64(d.Version), d.Due, andon.JSON(d.Data)
}

// Documents serves single records by what a database can do with their documents. A tenant is what
// it is in keys; "" is none.
type Documents struct {
	// Owner returns what the tenant of a record is in keys; that of "" is "".
	Owner func(context.Context, andon.TenantID) (string, error)
	// Read returns the document of a record as it is now, the zero value where there is none.
	Read func(ctx context.Context, tenant string, r *andon.Record) (Document, error)
	// Write writes a document over the one that was read, with all that finds it; Conflict where
	// that was changed meanwhile.
	Write func(ctx context.Context, tenant string, r *andon.Record, was, is Document) error
	// Stamp is a time in µs, above all that this process took before.
	Stamp func() int64
}

func (d *Documents) read(ctx context.Context, r *andon.Record) (string, Document, error) {
	tenant, err := d.Owner(ctx, r.Tenant)
	if err != nil {
		return "", Document{}, err
	}
	is, err := d.Read(ctx, tenant, r)
	return tenant, is, err
}

// Record implements andon.Records.
func (d *Documents) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
	_, is, err := d.read(ctx, &r)
	if err == nil && is.Live() == 0 {
		err = r.Missing()
	}
	if err != nil {
		return andon.Record{}, err
	}
	is.Into(&r)
	return r, nil
}

// PutRecord implements andon.Records.
func (d *Documents) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if err := r.Validate(); err != nil {
		return andon.Record{}, err
	}
	tenant, was, err := d.read(ctx, &r)
	if err == nil {
		err = r.CheckPut(was.Live())
	}
	if err != nil {
		return andon.Record{}, err
	}
	return d.Put(ctx, tenant, r, was)
}

// Put puts a record over what was read.
func (d *Documents) Put(
	ctx context.Context, tenant string, r andon.Record, was Document,
) (andon.Record, error) {
	is := Document{
		Version: d.Next(was), Due: r.Due, Data: string(r.Data), Incarnations: was.Incarnations,
	}
	if err := d.Write(ctx, tenant, &r, was, is); err != nil {
		return andon.Record{}, err
	}
	is.Into(&r)
	return r, nil
}

// Next returns the version that follows one that was read.
func (d *Documents) Next(was Document) int64 { return max(was.Version+1, d.Stamp()) }

// DeleteRecord implements andon.Records.
func (d *Documents) DeleteRecord(ctx context.Context, r andon.Record) error {
	if err := r.CheckOwned(); err != nil {
		return err
	}
	tenant, was, err := d.read(ctx, &r)
	if err == nil {
		err = r.CheckDelete(was.Live())
	}
	if err != nil {
		return err
	}
	return d.Write(ctx, tenant, &r, was, Document{Version: d.Next(was)})
}
