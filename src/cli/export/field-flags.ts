/** Flags of `logfleet export` for the fields of a manifest. Findings and messages about an export without a manifest name these flags. */

/** Flag for a field or for anything below it. Undefined if no flag sets the field. */
export function flagOf(path: string): string | undefined {
  return flagsByPath.find(([prefix]) => isWithin(path, prefix))?.[1];
}

function isWithin(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}.`) || path.startsWith(`${prefix}[`);
}

/** The first path that contains the field decides. */
const flagsByPath: readonly (readonly [path: string, flag: string])[] = [
  ['metadata.name', '--name'],
  ['metadata.namespace', '-n'],
  ['spec.query', '--query'],
  ['spec.timeRange.from', '--from'],
  ['spec.timeRange.to', '--to'],
  ['spec.timeRange.timeZone', '--time-zone'],
  ['spec.timeRange', '--time-zone'],
  ['spec.byReceiptTime', '--by-receipt-time'],
  ['spec.autoParsingMode', '--auto-parsing-mode'],
  ['spec.results', '--results'],
  ['spec.parallelism', '--parallelism'],
  ['spec.limits.maxMessages', '--max-messages'],
  ['spec.limits.maxBytesScanned', '--max-bytes-scanned'],
  ['spec.activeDeadlineSeconds', '--active-deadline-seconds'],
  ['spec.incompletePolicy', '--incomplete-policy'],
  ['spec.proof', '--proof'],
  ['spec.settleDelay', '--settle-delay'],
  ['spec.output.format', '--format'],
  ['spec.output.compression', '--compression'],
  ['spec.output.fields', '--fields'],
  ['spec.output.maxPartSize', '--max-part-size'],
  ['spec.destination.s3.endpoint', '--endpoint'],
  ['spec.destination.s3.region', '--region'],
  ['spec.destination.s3.forcePathStyle', '--path-style'],
  ['spec.destination.s3.insecure', '--insecure'],
  ['spec.destination', '-o'],
];
