/** Builds export definitions for tests that do not need a particular export. */
import {
  type ExportDefinition,
  type ExportRequest,
  exportDefinition,
} from '../../src/export/search/export-definition.ts';

/** Output settings for uncompressed NDJSON files. */
export const plainOutput: ExportRequest['output'] = {
  format: 'NDJSON',
  compression: 'None',
  fields: [],
  maxPartBytes: 10 ** 9,
  csv: { formulaGuard: true },
};

/**
 * Returns the request for an export of all messages in the first second of 1970. Fields in `more` override those of the
 * request.
 */
export function exportRequest(more: Partial<ExportRequest> = {}): ExportRequest {
  return {
    name: 'audit',
    query: '*',
    timeRange: { from: '0', to: '1000' },
    byReceiptTime: false,
    autoParsingMode: 'Manual',
    results: 'Messages',
    output: plainOutput,
    ...more,
  };
}

/** Returns the definition of the export that `exportRequest` requests. */
export function definitionOf(more: Partial<ExportRequest> = {}, serviceHost = 'service.test'): ExportDefinition {
  const definition = exportDefinition(exportRequest(more), serviceHost);
  if ('problem' in definition) throw new Error(definition.problem);
  return definition;
}
