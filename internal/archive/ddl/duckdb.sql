{{- if .S3 -}}
INSTALL httpfs;
LOAD httpfs;
INSTALL aws;
LOAD aws;
CREATE OR REPLACE SECRET andon_archive (
    TYPE s3, PROVIDER credential_chain
    {{- if .Region}}, REGION '{{.Region}}'{{end}}
    {{- if .Host}}, ENDPOINT '{{.Host}}', URL_STYLE 'path', USE_SSL {{.TLS}}{{end}}
);
{{end -}}
CREATE OR REPLACE VIEW andon_events AS
SELECT tenant, date, * EXCLUDE (tenant, kind, date)
FROM read_parquet('{{.To}}/tenant=*/kind=events/date=*/part-*.parquet',
    hive_partitioning = true, hive_types = {'tenant': VARCHAR, 'date': DATE});
CREATE OR REPLACE VIEW andon_readings AS
SELECT tenant, date, * EXCLUDE (tenant, kind, date)
FROM read_parquet('{{.To}}/tenant=*/kind=readings/date=*/part-*.parquet',
    hive_partitioning = true, hive_types = {'tenant': VARCHAR, 'date': DATE});
