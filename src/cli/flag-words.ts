/**
 * What is said of an export by flags, in its flags: whoever typed them has no manifest in which to look for a member of a spec. Validation
 * names members by their paths, conditions and errors name them in their texts; both go by one table.
 */

/** The flag of a member, also of one that lies below a path of the table; undefined where there is none. */
export function flagOf(place: string): string | undefined {
  return [...flagsByPath].find(([prefix]) => isWithin(place, prefix))?.[1];
}

function isWithin(place: string, prefix: string): boolean {
  return place.startsWith(prefix) && /^(?:$|[.[])/.test(place.slice(prefix.length));
}

/** What a manifest would have to say, as flags say it. */
export function inFlags(message: string): string {
  return message
    .replaceAll('write requiresRawMessages: true, or ', 'write ')
    .replaceAll(/\btimeZone: /g, '--time-zone ')
    .replaceAll(/\bresults: /g, '--results ')
    .replaceAll('with a timeZone', 'with --time-zone')
    .replaceAll('insecure: true beside it', '--insecure')
    .replaceAll('forcePathStyle: true beside it', '--path-style')
    .replaceAll(/\bwrite a manifest of Secret \S+ with\b/g, 'name by --secret a file with a Secret of')
    .replaceAll('correct the Secret that s3.credentialsSecretRef names, or, without one, ', 'correct ')
    .replaceAll(/(?<![\w./-])spec\.[a-zA-Z\d.]*[a-zA-Z\d]/g, (place) => flagOf(place) ?? place)
    .replaceAll(shortPlace, (place) => flagOf(pathOf(place)) ?? place)
    .replaceAll(/(?<![\w./-])maxPartSize\b/g, '--max-part-size');
}

/** Of rows that go to stdout none has gone there before all are proven, and what is kept until then goes with the process, manifest and all. */
export function onStdout(message: string): string {
  return message
    .replace(/^(\S+) rows? (?:is|are) in \S+ files?, and the manifest proves that these are all\./, allProven)
    .replace(/^(\S+) rows? (?:is|are) in \S+ files?; the manifest flags (\S+ intervals?) as incomplete/, notAllProven)
    .replaceAll(/ What is done stays: .*? written\./g, ' No row has gone to stdout: rows go there once all are there.')
    .replaceAll('Raise it to go on.', 'Raise it, and the export begins anew.');
}

function allProven(_: string, rows: string): string {
  return `${rows} ${rows === '1' ? 'row goes' : 'rows go'} to stdout, and it is proven that these are all.`;
}

function notAllProven(_: string, rows: string, intervals: string): string {
  return `${rows} ${rows === '1' ? 'row goes' : 'rows go'} to stdout, with ${intervals} incomplete`;
}

/** Members by name, since a store's host may begin alike, as s3.example.com does. */
const shortPlace =
  /(?<![\w./-])(?:s3\.(?:bucket|prefix|region|endpoint|forcePathStyle|insecure)|output\.(?:format|compression|fields|maxPartSize))(?!\.?[\w-])/g;

/** A path that errors of a store, or of files, leave out the beginning of. */
function pathOf(place: string): string {
  return place.startsWith('s3.') ? `spec.destination.${place}` : `spec.${place}`;
}

/** By their order: the first path that a member is at or below. */
const flagsByPath: ReadonlyMap<string, string> = new Map([
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
]);
