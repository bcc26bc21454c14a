/** Flags of `logfleet export` that set a field of the export. */
import { InvalidArgumentError, type Option } from 'commander';
import { wholeNumber } from '../../base/flag-values.ts';
import { flag, nameList } from '../command/flags.ts';

interface FieldFlag {
  /** Path of the field that the flag sets in the manifest. */
  readonly path: string;
  readonly option: Option;
  /** Name of the flag's value in the parsed options. */
  readonly attribute: string;
}

export const storePath = 'spec.destination.s3.';

/**
 * Defines the command-line flag for one field of an export's spec. The field determines the name of the flag, such as
 * `--time-zone` for `timeRange.timeZone`. `value` is the placeholder for the flag's value in the help text.
 */
function field(
  path: string,
  value: string,
  help: string,
  parse?: (text: string) => unknown,
  name = kebab(path),
): FieldFlag {
  const option = flag(`--${name} ${value}`.trimEnd(), help, parse);
  return { path: `spec.${path}`, option, attribute: option.attributeName() };
}

function kebab(path: string): string {
  return path.replace(/^.*\./, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * Defines a flag that accepts only fixed values, in upper or lower case. The default is `fallback` or, without
 * `fallback`, the first value. The help and the shell completion show the values.
 */
function choice(path: string, value: string, help: string, values: readonly string[], fallback = values[0]): FieldFlag {
  const flag = field(path, value, `${help} (default: ${fallback}).`);
  flag.option.choices(values).argParser((text) => {
    const meant = values.find((each) => each.toLowerCase() === text.toLowerCase());
    if (meant === undefined) throw new InvalidArgumentError(`Write ${values.join(' or ')}.`);
    return meant;
  });
  return flag;
}

const fromHelp =
  'Start of the time range to export: a time such as 2026-11-01T00:00:00 or 2026-11-01T00:00:00+01:00, a number of ms since 1970, or -24h (24 hours before now).';

export const fieldFlags: readonly FieldFlag[] = [
  field('query', '<query>', 'Query in the language of the service.'),
  field('timeRange.from', '<time>', fromHelp),
  field('timeRange.to', '<time>', 'End of the time range to export (exclusive): a time as for --from, or now.'),
  field('timeRange.timeZone', '<zone>', 'Time zone, such as Europe/Berlin, for times without an offset.'),
  field('byReceiptTime', '', 'Apply --from and --to to the receipt time of messages instead of their message time.'),
  choice('autoParsingMode', '<mode>', 'Parsing of fields in JSON messages', ['Manual', 'AutoParse']),
  choice('results', '<what>', 'Messages, or records of an aggregation', ['Messages', 'Records']),
  choice('output.format', '<format>', 'Format of the files; with -o -, NDJSON or CSV', ['NDJSON', 'CSV', 'Parquet']),
  choice('output.compression', '<how>', 'Compression of the files; none with -o -', ['None', 'Gzip', 'Zstd'], 'Gzip'),
  field(
    'output.compressionLevel',
    '<n>',
    'Compression level: 1 to 9 for Gzip (default: 5), 1 to 19 for Zstd (default: 3).',
    wholeNumber,
  ),
  field('output.fields', '<a,b>', 'Fields to write, in this order (default: all).', nameList),
  field('output.maxPartSize', '<size>', 'Maximum size of a file (default: 256Mi).'),
  choice('output.partitionBy', '<period>', 'Use a folder for each period; None with -o -', ['None', 'Day', 'Hour']),
  field('parallelism', '<n>', 'Maximum number of concurrent search jobs (default: 4).', wholeNumber),
  field('limits.maxMessages', '<n>', 'Start no more searches once the export has this many rows.', wholeNumber),
  field(
    'limits.maxBytesScanned',
    '<size>',
    'Start no more searches once the service has scanned this many bytes, such as 1Ti.',
  ),
  field('activeDeadlineSeconds', '<n>', 'Fail after this time.', wholeNumber),
  choice(
    'incompletePolicy',
    '<policy>',
    'What to do if rows may be missing: fail the export, or keep its rows and mark it as incomplete',
    ['Fail', 'Keep'],
  ),
  choice(
    'proof',
    '<how>',
    'How to prove that no row is missing. With Digest, the number, sizes and times of the rows are compared with values that the log service computes. With Count, only the number of rows is compared',
    ['Digest', 'Count'],
  ),
  field('settleDelay', '<duration>', 'Minimum age of the searched data (default: 3m).'),
  ...storeFlags(),
];

/** Defines the flags for an object store. */
export function storeFlags(): readonly FieldFlag[] {
  const path = 'destination.s3';
  return [
    field(`${path}.endpoint`, '<url>', 'Address of the object store (default: the public address of its provider).'),
    field(
      `${path}.region`,
      '<name>',
      'Region of the bucket (default: AWS_REGION, else us-east-1). Applies only to s3:// addresses.',
    ),
    field(
      `${path}.forcePathStyle`,
      '',
      'Put the bucket into the path of URLs instead of the hostname. Applies only to s3:// addresses.',
      undefined,
      'path-style',
    ),
    field(`${path}.insecure`, '', 'Allow an endpoint that begins with http://.'),
  ];
}

/**
 * Returns the flag that sets the field at `path` of the spec, or a parent of the field. Returns undefined if no flag
 * sets the field.
 */
export function flagOf(path: string): string | undefined {
  return fieldPaths.find(
    ([prefix]) => path === prefix || path.startsWith(`${prefix}.`) || path.startsWith(`${prefix}[`),
  )?.[1];
}

/** Flags by the path of the field that they set. */
const fieldPaths: readonly (readonly [path: string, flag: string | undefined])[] = [
  ['metadata.name', '--name'],
  ['metadata.namespace', '-n'],
  ...fieldFlags.map(({ path, option }) => [path, option.long] as const),
  ['spec.destination', '-o'],
];
