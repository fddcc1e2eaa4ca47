# The tables of Andon, with auto scaling and alarms. Printed by andon store template.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "alarm_topics" {
  type        = list(string)
  default     = []
  description = "ARNs of the SNS topics that alarms go to."
}
{{- range $t := .Tables}}

resource "aws_dynamodb_table" "{{id .ID}}" {
  name     = "{{.Name}}"
  hash_key = "{{.Hash}}"
  {{- if .Sort}}
  range_key = "{{.Sort}}"
  {{- end}}
  {{- if $.Provisioned}}
  billing_mode   = "PROVISIONED"
  read_capacity  = {{$.Capacity.Read.Min}}
  write_capacity = {{$.Capacity.Write.Min}}
  {{- else}}
  billing_mode = "PAY_PER_REQUEST"
  {{- end}}
  {{- range .Attributes}}

  attribute {
    name = "{{.}}"
    type = "S"
  }
  {{- end}}
  {{- range .Indexes}}

  global_secondary_index {
    name     = "{{.Name}}"
    hash_key = "{{.Hash}}"
    {{- if .Sort}}
    range_key = "{{.Sort}}"
    {{- end}}
    projection_type = "{{.Projects}}"
    {{- if .Included}}
    non_key_attributes = [{{range $n, $name := .Included}}{{if $n}}, {{end}}"{{$name}}"{{end}}]
    {{- end}}
    {{- if $.Provisioned}}
    read_capacity  = {{$.Capacity.Read.Min}}
    write_capacity = {{$.Capacity.Write.Min}}
    {{- end}}
  }
  {{- end}}
  {{- if .TTL}}

  ttl {
    attribute_name = "{{.TTL}}"
    enabled        = true
  }
  {{- end}}

  point_in_time_recovery {
    enabled = true
  }

  lifecycle {
    prevent_destroy = true
    {{- if $.Provisioned}}
    ignore_changes  = [read_capacity, write_capacity, global_secondary_index]
    {{- end}}
  }
}
{{- if $.Provisioned}}
{{- range .Scaled}}

resource "aws_appautoscaling_target" "{{id .Name}}" {
  service_namespace  = "dynamodb"
  resource_id        = "{{.Resource}}"
  scalable_dimension = "{{.Dimension}}"
  min_capacity       = {{.Min}}
  max_capacity       = {{.Max}}
  depends_on         = [aws_dynamodb_table.{{id $t.ID}}]
}

resource "aws_appautoscaling_policy" "{{id .Name}}" {
  name               = "{{.Name}}"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.{{id .Name}}.service_namespace
  resource_id        = aws_appautoscaling_target.{{id .Name}}.resource_id
  scalable_dimension = aws_appautoscaling_target.{{id .Name}}.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value = {{$.Target}}

    predefined_metric_specification {
      predefined_metric_type = "{{.Metric}}"
    }
  }
}
{{- end}}
{{- end}}
{{- range $a := .Alarms}}

resource "aws_cloudwatch_metric_alarm" "{{id $t.ID .ID}}" {
  alarm_name          = "{{$t.Name}}-{{.ID}}"
  alarm_description   = "{{$t.Name}}: {{.Text}}"
  alarm_actions       = var.alarm_topics
  treat_missing_data  = "notBreaching"
  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 5
  {{- if .Operations}}
  datapoints_to_alarm = 3
  threshold           = 0

  metric_query {
    id          = "total"
    expression  = "SUM(METRICS())"
    label       = "{{.Metric}}"
    return_data = true
  }
  {{- range .Operations}}

  metric_query {
    id = "{{lower .}}"

    metric {
      namespace   = "AWS/DynamoDB"
      metric_name = "{{$a.Metric}}"
      stat        = "Sum"
      period      = 60

      dimensions = {
        TableName = aws_dynamodb_table.{{id $t.ID}}.name
        Operation = "{{.}}"
      }
    }
  }
  {{- end}}
  {{- else}}
  threshold           = {{.PerMinute}}
  namespace           = "AWS/DynamoDB"
  metric_name         = "{{.Metric}}"
  statistic           = "Sum"
  period              = 60

  dimensions = {
    TableName = aws_dynamodb_table.{{id $t.ID}}.name
  }
  {{- end}}
}
{{- end}}
{{- end}}
