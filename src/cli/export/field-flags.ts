/**
 * Table of the flags of `logfleet export` that set a field of the export. It serves three purposes: it defines the flags, it builds the
 * manifest from them, and it names the flags instead of fields in messages about an export without a manifest.
 */
import { InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../../base/flag-values.ts';
import { nameList } from '../flags.ts';

interface FieldFlag {
  /** Path of the manifest field that the flag sets. */
  readonly path: string;
  readonly option: Option;
  /** Name of the flag's value in the parsed options. */
  readonly attribute: string;
}

export const storePath = 'spec.destination.s3.';

function field(path: string, flags: string, help: string, parse?: (text: string) => unknown): FieldFlag {
  const option = new Option(flags, help);
  if (parse) option.argParser(parse);
  return { path, option, attribute: option.attributeName() };
}

/**
 * Defines a flag whose values are fixed. The user may write them in any capitalisation. The default is the first value, unless `fallback`
 * names another.
 */
function choice(path: string, flags: string, help: string, values: readonly string[], fallback = values[0]): FieldFlag {
  return field(path, flags, `${help}: ${values.join(', ')} (default: ${fallback}).`, (text) => {
    const meant = values.find((value) => value.toLowerCase() === text.toLowerCase());
    if (meant === undefined) throw new InvalidArgumentError(`Write ${values.join(' or ')}.`);
    return meant;
  });
}

export const fieldFlags: readonly FieldFlag[] = [
  field('spec.query', '--query <query>', 'Query in the language of the service.'),
  field(
    'spec.timeRange.from',
    '--from <time>',
    'Start of the range: 2026-11-01T00:00:00, with an offset, in ms, or -24h from now.',
  ),
  field('spec.timeRange.to', '--to <time>', 'End of the range, excluded; or now.'),
  field(
    'spec.timeRange.timeZone',
    '--time-zone <zone>',
    'Time zone of times without an offset, such as Europe/Berlin.',
  ),
  field('spec.byReceiptTime', '--by-receipt-time', 'The range applies to receipt times, not to message times.'),
  choice('spec.autoParsingMode', '--auto-parsing-mode <mode>', 'How fields of JSON messages are parsed', [
    'Manual',
    'AutoParse',
  ]),
  choice('spec.results', '--results <what>', 'Messages, or records of an aggregation', ['Messages', 'Records']),
  choice('spec.output.format', '--format <format>', 'Format of the files; with -o -, NDJSON or CSV', [
    ...['NDJSON', 'CSV', 'Parquet'],
  ]),
  choice(
    'spec.output.compression',
    '--compression <how>',
    'Compression of the files; none with -o -',
    ['None', 'Gzip', 'Zstd'],
    'Gzip',
  ),
  field('spec.output.fields', '--fields <a,b>', 'Fields to write, in this order (default: all).', nameList),
  field('spec.output.maxPartSize', '--max-part-size <size>', 'Maximum size of a file (default: 256Mi).'),
  field('spec.parallelism', '--parallelism <n>', 'Maximum number of search jobs at once (default: 4).', wholeNumber),
  field(
    'spec.limits.maxMessages',
    '--max-messages <n>',
    'Start no further search after this number of rows.',
    wholeNumber,
  ),
  field(
    'spec.limits.maxBytesScanned',
    '--max-bytes-scanned <size>',
    'Start no further search after this number of scanned bytes, such as 1Ti.',
  ),
  field('spec.activeDeadlineSeconds', '--active-deadline-seconds <n>', 'Fail after this time.', wholeNumber),
  choice(
    'spec.incompletePolicy',
    '--incomplete-policy <policy>',
    'Intervals that cannot be proven: fail, or keep them with a flag',
    ['Fail', 'Keep'],
  ),
  choice('spec.proof', '--proof <how>', 'Proof of completeness: by an aggregation, or by counts only', [
    'Digest',
    'Count',
  ]),
  field('spec.settleDelay', '--settle-delay <duration>', 'Minimum age of the searched data (default: 3m).'),
  ...storeFlags('With -o s3://'),
];

/**
 * Flags for an object store, shared by `logfleet export` and `logfleet verify`. `when` is the beginning of their help texts and says when
 * they apply.
 */
export function storeFlags(when: string): readonly FieldFlag[] {
  return [
    field(`${storePath}endpoint`, '--endpoint <url>', `${when}: address of the store (default: Amazon S3).`),
    field(
      `${storePath}region`,
      '--region <name>',
      `${when}: region of the bucket (default: AWS_REGION, else us-east-1).`,
    ),
    field(
      `${storePath}forcePathStyle`,
      '--path-style',
      `${when}: put the name of the bucket into the path, as many stores require.`,
    ),
    field(`${storePath}insecure`, '--insecure', `${when}: allow an http:// endpoint.`),
  ];
}

/** Returns the flag that sets a field or a part of the field. Undefined if no flag sets it. */
export function flagOf(path: string): string | undefined {
  return fieldPaths.find(
    ([prefix]) => path === prefix || path.startsWith(`${prefix}.`) || path.startsWith(`${prefix}[`),
  )?.[1];
}

/** Flags by the path of their field. If several flags belong to a field, the first one in the table is used. */
const fieldPaths: readonly (readonly [path: string, flag: string | undefined])[] = [
  ['metadata.name', '--name'],
  ['metadata.namespace', '-n'],
  ...fieldFlags.map(({ path, option }) => [path, option.long] as const),
  ['spec.timeRange', '--time-zone'],
  ['spec.destination', '-o'],
];
