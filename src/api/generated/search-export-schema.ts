/** Generated from crds/search-export.yaml by `make generate`. Edit that file instead. */
import type { StructuralSchema } from '../../base/structural-schema.ts';

export const searchExportSchema: StructuralSchema = {
  "type": "object",
  "required": [
    "spec"
  ],
  "x-kubernetes-validations": [
    {
      "rule": "!has(self.metadata.name) || size(self.metadata.name) <= 190",
      "problem": "the name has more than 190 characters",
      "remedy": "use a shorter name, because the folder for the files is named after it"
    }
  ],
  "properties": {
    "apiVersion": {
      "type": "string"
    },
    "kind": {
      "type": "string"
    },
    "metadata": {
      "type": "object"
    },
    "spec": {
      "type": "object",
      "required": [
        "credentialsSecretRef",
        "query",
        "timeRange",
        "destination"
      ],
      "properties": {
        "credentialsSecretRef": {
          "type": "object",
          "example": {
            "name": "log-service"
          },
          "required": [
            "name"
          ],
          "properties": {
            "name": {
              "type": "string",
              "example": "log-service",
              "maxLength": 253,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$\")",
                  "remedy": "use the name of a Secret in the export's namespace: lower-case letters, digits, '-' and '.', for example log-service"
                }
              ]
            }
          }
        },
        "query": {
          "type": "string",
          "example": "_sourceCategory=prod/* error",
          "maxLength": 16384,
          "x-kubernetes-validations": [
            {
              "rule": "self.matches(\"[^ \\t\\r\\n]\")",
              "problem": "is empty",
              "remedy": "use search terms, for example _sourceCategory=prod/* error; * finds everything"
            },
            {
              "rule": "self == oldSelf",
              "problem": "cannot be changed, because it determines the content of the files",
              "remedy": "create another SearchExport with a new name"
            }
          ]
        },
        "timeRange": {
          "type": "object",
          "example": {
            "from": "2026-11-01T00:00:00",
            "to": "2026-11-02T00:00:00",
            "timeZone": "Europe/Berlin"
          },
          "required": [
            "from",
            "to"
          ],
          "properties": {
            "from": {
              "type": "string",
              "example": "2026-11-01T00:00:00",
              "maxLength": 40,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^([0-9]{1,15}|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?([Zz]|[+-][0-9]{2}:[0-9]{2})?)$\")",
                  "remedy": "use a local time such as 2026-11-01T00:00:00 with a time zone, a time with an offset such as 2026-11-01T00:00:00+01:00, or milliseconds since the epoch such as \"1793491200000\""
                },
                {
                  "rule": "!self.matches(\"^[0-9]{10}$\")",
                  "problem": "looks like seconds",
                  "remedy": "use milliseconds, which have three more digits, for example \"1793491200000\""
                }
              ]
            },
            "to": {
              "type": "string",
              "example": "2026-11-02T00:00:00",
              "maxLength": 40,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^([0-9]{1,15}|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?([Zz]|[+-][0-9]{2}:[0-9]{2})?)$\")",
                  "remedy": "use a local time such as 2026-11-01T00:00:00 with a time zone, a time with an offset such as 2026-11-01T00:00:00+01:00, or milliseconds since the epoch such as \"1793491200000\""
                },
                {
                  "rule": "!self.matches(\"^[0-9]{10}$\")",
                  "problem": "looks like seconds",
                  "remedy": "use milliseconds, which have three more digits, for example \"1793491200000\""
                }
              ]
            },
            "timeZone": {
              "type": "string",
              "example": "Europe/Berlin",
              "minLength": 1,
              "maxLength": 64,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^[A-Z][A-Za-z0-9_+/-]*$\") && self != \"Local\" && timestamp(\"2000-01-01T00:00:00Z\").getHours(self) >= 0",
                  "remedy": "use a time zone from the IANA database, for example Europe/Berlin"
                }
              ]
            }
          },
          "x-kubernetes-validations": [
            {
              "rule": "has(self.timeZone) || [self.from, self.to].all(text, !text.matches(\"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:.]+$\"))",
              "fieldPath": ".timeZone",
              "problem": "is missing, but a time without an offset needs a time zone",
              "remedy": "set it, for example to Europe/Berlin or UTC, or give the times an offset"
            },
            {
              "rule": "self == oldSelf",
              "problem": "cannot be changed, because it determines the content of the files",
              "remedy": "create another SearchExport with a new name"
            }
          ]
        },
        "byReceiptTime": {
          "type": "boolean",
          "default": false,
          "x-kubernetes-validations": [
            {
              "rule": "self == oldSelf",
              "problem": "cannot be changed, because it determines the content of the files",
              "remedy": "create another SearchExport with a new name"
            }
          ]
        },
        "autoParsingMode": {
          "type": "string",
          "enum": [
            "Manual",
            "AutoParse"
          ],
          "default": "Manual",
          "x-kubernetes-validations": [
            {
              "rule": "self == oldSelf",
              "problem": "cannot be changed, because it determines the content of the files",
              "remedy": "create another SearchExport with a new name"
            }
          ]
        },
        "results": {
          "type": "string",
          "enum": [
            "Messages",
            "Records"
          ],
          "default": "Messages",
          "x-kubernetes-validations": [
            {
              "rule": "self == oldSelf",
              "problem": "cannot be changed, because it determines the content of the files",
              "remedy": "create another SearchExport with a new name"
            }
          ]
        },
        "requiresRawMessages": {
          "type": "boolean"
        },
        "parallelism": {
          "type": "integer",
          "format": "int32",
          "minimum": 1,
          "maximum": 30,
          "default": 4
        },
        "output": {
          "type": "object",
          "default": {},
          "properties": {
            "format": {
              "type": "string",
              "enum": [
                "NDJSON",
                "CSV",
                "Parquet"
              ],
              "default": "NDJSON"
            },
            "compression": {
              "type": "string",
              "enum": [
                "None",
                "Gzip",
                "Zstd"
              ],
              "default": "Gzip"
            },
            "compressionLevel": {
              "type": "integer",
              "format": "int32",
              "example": 1,
              "minimum": 1,
              "maximum": 19
            },
            "fields": {
              "type": "array",
              "maxItems": 200,
              "default": [],
              "items": {
                "type": "string",
                "minLength": 1,
                "maxLength": 256
              }
            },
            "maxPartSize": {
              "type": "string",
              "maxLength": 16,
              "default": "256Mi",
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^([0-9]{1,15}|[0-9]{1,6}([.][0-9]{1,3})?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi))$\")",
                  "remedy": "use a number of bytes, optionally with k, M, G, T or P for powers of 1000, or Ki, Mi, Gi, Ti or Pi for powers of 1024, for example 256Mi"
                },
                {
                  "rule": "!self.matches(\"^([0-9]{1,15}|[0-9]{1,6}([.][0-9]{1,3})?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi))$\") || (quantity(self).compareTo(quantity(\"1Mi\")) >= 0 && quantity(self).compareTo(quantity(\"32Gi\")) <= 0)",
                  "remedy": "use a size from 1Mi to 32Gi"
                }
              ]
            },
            "partitionBy": {
              "type": "string",
              "enum": [
                "None",
                "Day",
                "Hour"
              ],
              "default": "None"
            },
            "csv": {
              "type": "object",
              "example": {
                "formulaGuard": false
              },
              "properties": {
                "formulaGuard": {
                  "type": "boolean",
                  "default": true
                }
              }
            }
          },
          "x-kubernetes-validations": [
            {
              "rule": "!has(self.compressionLevel) || self.compression != \"None\"",
              "fieldPath": ".compressionLevel",
              "problem": "does not apply to compression None",
              "remedy": "leave compressionLevel out, or set compression to Gzip or Zstd"
            },
            {
              "rule": "!has(self.compressionLevel) || self.compression != \"Gzip\" || self.compressionLevel <= 9",
              "fieldPath": ".compressionLevel",
              "problem": "is above 9, the highest level of Gzip",
              "remedy": "use a level from 1 to 9, or set compression to Zstd"
            },
            {
              "rule": "!has(self.csv) || self.format == \"CSV\"",
              "fieldPath": ".csv",
              "problem": "applies only to format CSV",
              "remedy": "leave csv out, or set format: CSV"
            },
            {
              "rule": "self == oldSelf",
              "problem": "cannot be changed, because it determines the content of the files",
              "remedy": "create another SearchExport with a new name"
            }
          ]
        },
        "destination": {
          "type": "object",
          "example": {
            "volume": {
              "name": "exports"
            }
          },
          "properties": {
            "volume": {
              "type": "object",
              "example": {
                "name": "exports",
                "path": "audit"
              },
              "required": [
                "name"
              ],
              "properties": {
                "name": {
                  "type": "string",
                  "example": "exports",
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\")",
                      "remedy": "use the NAME in one of the operator's options --volume NAME=DIR: lower-case letters, digits and '-', for example exports"
                    }
                  ]
                },
                "path": {
                  "type": "string",
                  "example": "audit",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254}(/[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254})*/?$\")",
                      "remedy": "use folders separated by /, with letters, digits and _ = + , @ ~ ! ( ) . -, none of which begins with a dot or a minus, for example audit/2026"
                    }
                  ]
                }
              }
            },
            "s3": {
              "type": "object",
              "example": {
                "bucket": "log-exports",
                "credentialsSecretRef": {
                  "name": "export-store"
                }
              },
              "required": [
                "bucket"
              ],
              "properties": {
                "bucket": {
                  "type": "string",
                  "example": "log-exports",
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$\")",
                      "remedy": "use the name of a bucket: 3 to 63 lower-case letters, digits, '.' and '-', for example log-exports"
                    }
                  ]
                },
                "prefix": {
                  "type": "string",
                  "example": "audit",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254}(/[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254})*/?$\")",
                      "remedy": "use folders separated by /, with letters, digits and _ = + , @ ~ ! ( ) . -, none of which begins with a dot or a minus, for example audit/2026"
                    }
                  ]
                },
                "region": {
                  "type": "string",
                  "example": "eu-central-1",
                  "maxLength": 64,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[a-z0-9-]+$\")",
                      "remedy": "use a region: lower-case letters, digits and '-', for example eu-central-1"
                    }
                  ]
                },
                "endpoint": {
                  "type": "string",
                  "example": "https://store.example.com",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^https?://([A-Za-z0-9.-]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$\")",
                      "remedy": "use an address without a user, password, ? or #, for example https://store.example.com; credentials belong in the Secret"
                    }
                  ]
                },
                "forcePathStyle": {
                  "type": "boolean",
                  "default": false
                },
                "credentialsSecretRef": {
                  "type": "object",
                  "example": {
                    "name": "export-store"
                  },
                  "required": [
                    "name"
                  ],
                  "properties": {
                    "name": {
                      "type": "string",
                      "example": "export-store",
                      "maxLength": 253,
                      "x-kubernetes-validations": [
                        {
                          "rule": "self.matches(\"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$\")",
                          "remedy": "use the name of a Secret in the export's namespace: lower-case letters, digits, '-' and '.', for example export-store"
                        }
                      ]
                    }
                  }
                },
                "serverSideEncryption": {
                  "type": "object",
                  "example": {
                    "type": "aws:kms"
                  },
                  "required": [
                    "type"
                  ],
                  "properties": {
                    "type": {
                      "type": "string",
                      "example": "aws:kms",
                      "enum": [
                        "AES256",
                        "aws:kms",
                        "aws:kms:dsse"
                      ]
                    },
                    "kmsKeyID": {
                      "type": "string",
                      "example": "alias/log-exports",
                      "minLength": 1,
                      "maxLength": 2048
                    }
                  },
                  "x-kubernetes-validations": [
                    {
                      "rule": "!has(self.kmsKeyID) || self.type != \"AES256\"",
                      "fieldPath": ".kmsKeyID",
                      "problem": "does not apply to AES256, which uses keys of the store",
                      "remedy": "leave kmsKeyID out, or set type: aws:kms"
                    }
                  ]
                },
                "storageClass": {
                  "type": "string",
                  "example": "STANDARD_IA",
                  "maxLength": 64,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[A-Za-z0-9_-]+$\")",
                      "remedy": "use a storage class of the store, for example STANDARD_IA"
                    }
                  ]
                },
                "objectLock": {
                  "type": "object",
                  "example": {
                    "mode": "Governance",
                    "retainUntilDays": 365
                  },
                  "required": [
                    "mode",
                    "retainUntilDays"
                  ],
                  "properties": {
                    "mode": {
                      "type": "string",
                      "example": "Governance",
                      "enum": [
                        "Governance",
                        "Compliance"
                      ]
                    },
                    "retainUntilDays": {
                      "type": "integer",
                      "format": "int32",
                      "example": 365,
                      "minimum": 1,
                      "maximum": 36500
                    }
                  }
                },
                "insecure": {
                  "type": "boolean",
                  "default": false
                }
              },
              "x-kubernetes-validations": [
                {
                  "rule": "!has(self.endpoint) || !self.endpoint.startsWith(\"http://\") || self.insecure",
                  "fieldPath": ".endpoint",
                  "problem": "is not encrypted",
                  "remedy": "use https://, or set insecure to allow http://"
                }
              ]
            },
            "azureBlob": {
              "type": "object",
              "example": {
                "account": "examplelogs",
                "container": "log-exports",
                "credentialsSecretRef": {
                  "name": "export-store"
                }
              },
              "required": [
                "container"
              ],
              "properties": {
                "account": {
                  "type": "string",
                  "example": "examplelogs",
                  "maxLength": 24,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[a-z0-9]{3,24}$\")",
                      "remedy": "use the name of a storage account: 3 to 24 lower-case letters and digits, for example examplelogs"
                    }
                  ]
                },
                "endpoint": {
                  "type": "string",
                  "example": "https://examplelogs.blob.core.usgovcloudapi.net",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^https?://([A-Za-z0-9.-]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$\")",
                      "remedy": "use an address without a user, password, ? or #, for example https://store.example.com; credentials belong in the Secret"
                    }
                  ]
                },
                "container": {
                  "type": "string",
                  "example": "log-exports",
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.size() >= 3 && self.matches(\"^[a-z0-9]+(-[a-z0-9]+)*$\")",
                      "remedy": "use the name of a container: 3 to 63 lower-case letters, digits and single '-', for example log-exports"
                    }
                  ]
                },
                "prefix": {
                  "type": "string",
                  "example": "audit",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254}(/[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254})*/?$\")",
                      "remedy": "use folders separated by /, with letters, digits and _ = + , @ ~ ! ( ) . -, none of which begins with a dot or a minus, for example audit/2026"
                    }
                  ]
                },
                "credentialsSecretRef": {
                  "type": "object",
                  "example": {
                    "name": "export-store"
                  },
                  "required": [
                    "name"
                  ],
                  "properties": {
                    "name": {
                      "type": "string",
                      "example": "export-store",
                      "maxLength": 253,
                      "x-kubernetes-validations": [
                        {
                          "rule": "self.matches(\"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$\")",
                          "remedy": "use the name of a Secret in the export's namespace: lower-case letters, digits, '-' and '.', for example export-store"
                        }
                      ]
                    }
                  }
                },
                "insecure": {
                  "type": "boolean",
                  "default": false
                }
              },
              "x-kubernetes-validations": [
                {
                  "rule": "has(self.account) != has(self.endpoint)",
                  "remedy": "set exactly one of the two: account, for example examplelogs, or endpoint, for example https://store.example.com"
                },
                {
                  "rule": "!has(self.endpoint) || !self.endpoint.startsWith(\"http://\") || self.insecure",
                  "fieldPath": ".endpoint",
                  "problem": "is not encrypted",
                  "remedy": "use https://, or set insecure to allow http://"
                }
              ]
            },
            "gcs": {
              "type": "object",
              "example": {
                "bucket": "log-exports",
                "credentialsSecretRef": {
                  "name": "export-store"
                }
              },
              "required": [
                "bucket"
              ],
              "properties": {
                "bucket": {
                  "type": "string",
                  "example": "log-exports",
                  "maxLength": 222,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.size() >= 3 && self.matches(\"^[a-z0-9][a-z0-9._-]*[a-z0-9]$\")",
                      "remedy": "use the name of a bucket: 3 to 63 lower-case letters, digits, '.', '_' and '-', for example log-exports"
                    }
                  ]
                },
                "prefix": {
                  "type": "string",
                  "example": "audit",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254}(/[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254})*/?$\")",
                      "remedy": "use folders separated by /, with letters, digits and _ = + , @ ~ ! ( ) . -, none of which begins with a dot or a minus, for example audit/2026"
                    }
                  ]
                },
                "endpoint": {
                  "type": "string",
                  "example": "https://storage-logs.p.googleapis.com",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^https?://([A-Za-z0-9.-]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$\")",
                      "remedy": "use an address without a user, password, ? or #, for example https://store.example.com; credentials belong in the Secret"
                    }
                  ]
                },
                "credentialsSecretRef": {
                  "type": "object",
                  "example": {
                    "name": "export-store"
                  },
                  "required": [
                    "name"
                  ],
                  "properties": {
                    "name": {
                      "type": "string",
                      "example": "export-store",
                      "maxLength": 253,
                      "x-kubernetes-validations": [
                        {
                          "rule": "self.matches(\"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$\")",
                          "remedy": "use the name of a Secret in the export's namespace: lower-case letters, digits, '-' and '.', for example export-store"
                        }
                      ]
                    }
                  }
                },
                "insecure": {
                  "type": "boolean",
                  "default": false
                }
              },
              "x-kubernetes-validations": [
                {
                  "rule": "!has(self.endpoint) || !self.endpoint.startsWith(\"http://\") || self.insecure",
                  "fieldPath": ".endpoint",
                  "problem": "is not encrypted",
                  "remedy": "use https://, or set insecure to allow http://"
                }
              ]
            },
            "persistentVolumeClaim": {
              "type": "object",
              "example": {
                "claimName": "audit",
                "path": "logs"
              },
              "required": [
                "claimName"
              ],
              "properties": {
                "claimName": {
                  "type": "string",
                  "example": "audit",
                  "maxLength": 253,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$\")",
                      "remedy": "use the name of a PersistentVolumeClaim: lower-case letters, digits, '-' and '.', for example audit"
                    }
                  ]
                },
                "path": {
                  "type": "string",
                  "example": "logs",
                  "maxLength": 512,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254}(/[A-Za-z0-9_=+,@~!()][A-Za-z0-9_=+,@~!().-]{0,254})*/?$\")",
                      "remedy": "use folders separated by /, with letters, digits and _ = + , @ ~ ! ( ) . -, none of which begins with a dot or a minus, for example audit/2026"
                    }
                  ]
                }
              }
            }
          },
          "x-kubernetes-validations": [
            {
              "rule": "[has(self.volume), has(self.s3), has(self.azureBlob), has(self.gcs), has(self.persistentVolumeClaim)].exists_one(isGiven, isGiven)",
              "remedy": "set exactly one destination: volume, for example {name: exports}, s3, for example {bucket: log-exports}, azureBlob, gcs, or persistentVolumeClaim"
            },
            {
              "rule": "self == oldSelf",
              "problem": "cannot be changed, because it already contains files",
              "remedy": "create another SearchExport with a new name"
            }
          ]
        },
        "execution": {
          "type": "object",
          "default": {},
          "example": {
            "mode": "Job",
            "job": {
              "serviceAccountName": "exporter"
            }
          },
          "properties": {
            "mode": {
              "type": "string",
              "enum": [
                "Operator",
                "Job"
              ],
              "default": "Operator",
              "x-kubernetes-validations": [
                {
                  "rule": "self == oldSelf",
                  "problem": "cannot be changed, because the former process may still be running",
                  "remedy": "create another SearchExport with a new name"
                }
              ]
            },
            "job": {
              "type": "object",
              "example": {
                "serviceAccountName": "exporter"
              },
              "properties": {
                "workers": {
                  "type": "integer",
                  "format": "int32",
                  "minimum": 1,
                  "maximum": 4,
                  "default": 1
                },
                "serviceAccountName": {
                  "type": "string",
                  "example": "exporter",
                  "maxLength": 253,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$\")",
                      "remedy": "use the name of a ServiceAccount in the export's namespace: lower-case letters, digits, '-' and '.', for example exporter"
                    }
                  ]
                },
                "template": {
                  "type": "object",
                  "example": {
                    "spec": {
                      "priorityClassName": "batch"
                    }
                  },
                  "properties": {
                    "metadata": {
                      "type": "object",
                      "example": {
                        "labels": {
                          "kueue.x-k8s.io/queue-name": "exports"
                        }
                      },
                      "properties": {
                        "labels": {
                          "type": "object",
                          "maxProperties": 32,
                          "additionalProperties": {
                            "type": "string",
                            "maxLength": 63
                          }
                        },
                        "annotations": {
                          "type": "object",
                          "maxProperties": 32,
                          "additionalProperties": {
                            "type": "string",
                            "maxLength": 4096
                          }
                        }
                      }
                    },
                    "spec": {
                      "type": "object",
                      "example": {
                        "priorityClassName": "batch"
                      },
                      "properties": {
                        "nodeSelector": {
                          "type": "object",
                          "maxProperties": 32,
                          "additionalProperties": {
                            "type": "string",
                            "maxLength": 63
                          }
                        },
                        "tolerations": {
                          "type": "array",
                          "maxItems": 16,
                          "items": {
                            "type": "object",
                            "properties": {
                              "key": {
                                "type": "string",
                                "maxLength": 316
                              },
                              "operator": {
                                "type": "string",
                                "enum": [
                                  "Exists",
                                  "Equal"
                                ]
                              },
                              "value": {
                                "type": "string",
                                "maxLength": 63
                              },
                              "effect": {
                                "type": "string",
                                "enum": [
                                  "NoSchedule",
                                  "PreferNoSchedule",
                                  "NoExecute"
                                ]
                              },
                              "tolerationSeconds": {
                                "type": "integer",
                                "format": "int64"
                              }
                            }
                          }
                        },
                        "affinity": {
                          "type": "object",
                          "example": {
                            "nodeAffinity": {
                              "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                  {
                                    "matchExpressions": [
                                      {
                                        "key": "disk",
                                        "operator": "In",
                                        "values": [
                                          "fast"
                                        ]
                                      }
                                    ]
                                  }
                                ]
                              }
                            }
                          },
                          "properties": {
                            "nodeAffinity": {
                              "type": "object"
                            },
                            "podAffinity": {
                              "type": "object"
                            },
                            "podAntiAffinity": {
                              "type": "object"
                            }
                          }
                        },
                        "resources": {
                          "type": "object",
                          "example": {
                            "requests": {
                              "cpu": 2
                            }
                          },
                          "properties": {
                            "requests": {
                              "type": "object",
                              "maxProperties": 16,
                              "additionalProperties": {
                                "x-kubernetes-int-or-string": true,
                                "maxLength": 32,
                                "example": "500m"
                              }
                            },
                            "limits": {
                              "type": "object",
                              "maxProperties": 16,
                              "additionalProperties": {
                                "x-kubernetes-int-or-string": true,
                                "maxLength": 32,
                                "example": "500m"
                              }
                            }
                          }
                        },
                        "priorityClassName": {
                          "type": "string",
                          "example": "batch",
                          "maxLength": 253
                        },
                        "imagePullSecrets": {
                          "type": "array",
                          "maxItems": 8,
                          "items": {
                            "type": "object",
                            "example": {
                              "name": "registry"
                            },
                            "required": [
                              "name"
                            ],
                            "properties": {
                              "name": {
                                "type": "string",
                                "example": "registry",
                                "maxLength": 253
                              }
                            }
                          }
                        }
                      }
                    }
                  }
                },
                "backoffLimitPerIndex": {
                  "type": "integer",
                  "format": "int32",
                  "minimum": 0,
                  "maximum": 100,
                  "default": 6
                },
                "ttlSecondsAfterFinished": {
                  "type": "integer",
                  "format": "int32",
                  "minimum": 0,
                  "maximum": 2147483647,
                  "default": 3600
                }
              }
            }
          },
          "x-kubernetes-validations": [
            {
              "rule": "self.mode == \"Job\" || !has(self.job)",
              "fieldPath": ".job",
              "problem": "applies only to mode Job",
              "remedy": "leave job out, or set mode: Job"
            }
          ]
        },
        "limits": {
          "type": "object",
          "default": {},
          "example": {
            "maxBytesScanned": "1Ti"
          },
          "properties": {
            "maxMessages": {
              "type": "integer",
              "format": "int64",
              "minimum": 1,
              "maximum": 1000000000000
            },
            "maxBytesScanned": {
              "type": "string",
              "example": "1Ti",
              "maxLength": 16,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^([0-9]{1,15}|[0-9]{1,6}([.][0-9]{1,3})?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi))$\")",
                  "remedy": "use a number of bytes, optionally with k, M, G, T or P for powers of 1000, or Ki, Mi, Gi, Ti or Pi for powers of 1024, for example 256Mi"
                },
                {
                  "rule": "!self.matches(\"^([0-9]{1,15}|[0-9]{1,6}([.][0-9]{1,3})?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi))$\") || (quantity(self).compareTo(quantity(\"1Mi\")) >= 0 && quantity(self).compareTo(quantity(\"1Pi\")) <= 0)",
                  "remedy": "use a size from 1Mi to 1Pi"
                }
              ]
            }
          }
        },
        "activeDeadlineSeconds": {
          "type": "integer",
          "format": "int64",
          "minimum": 1,
          "maximum": 2147483647
        },
        "incompletePolicy": {
          "type": "string",
          "enum": [
            "Fail",
            "Keep"
          ],
          "default": "Fail"
        },
        "proof": {
          "type": "string",
          "enum": [
            "Digest",
            "Count"
          ],
          "default": "Digest"
        },
        "settleDelay": {
          "type": "string",
          "maxLength": 16,
          "default": "3m",
          "x-kubernetes-validations": [
            {
              "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
              "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
            },
            {
              "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"0s\") && duration(self) <= duration(\"24h\"))",
              "remedy": "use a duration from 0s to 24h"
            }
          ]
        },
        "paused": {
          "type": "boolean",
          "default": false
        },
        "ttlSecondsAfterFinished": {
          "type": "integer",
          "format": "int64",
          "minimum": 0,
          "maximum": 2147483647
        }
      },
      "x-kubernetes-validations": [
        {
          "rule": "self.results == \"Messages\" || self.output.partitionBy == \"None\"",
          "fieldPath": ".output.partitionBy",
          "problem": "records have no time by which to divide them",
          "remedy": "leave partitionBy out, or export Messages"
        },
        {
          "rule": "(has(self.requiresRawMessages) ? self.requiresRawMessages : self.results == \"Messages\") == (has(oldSelf.requiresRawMessages) ? oldSelf.requiresRawMessages : oldSelf.results == \"Messages\") || self.results != oldSelf.results",
          "fieldPath": ".requiresRawMessages",
          "problem": "cannot be changed, because it determines the content of the files",
          "remedy": "create another SearchExport with a new name"
        },
        {
          "rule": "!has(self.destination.persistentVolumeClaim) || self.execution.mode == \"Job\"",
          "fieldPath": ".destination.persistentVolumeClaim",
          "problem": "can be mounted only by a Job",
          "remedy": "also set execution: {mode: Job}"
        },
        {
          "rule": "!has(self.destination.volume) || self.execution.mode != \"Job\"",
          "fieldPath": ".destination.volume",
          "problem": "is a volume of the operator, which a Job cannot mount",
          "remedy": "use persistentVolumeClaim, for example {claimName: audit}"
        }
      ]
    },
    "status": {
      "type": "object"
    }
  }
};
