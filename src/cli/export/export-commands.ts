/** Flags and help of the commands about exports: `export` and `verify`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { fileList, wholeNumber } from '../../base/flag-values.ts';
import type { CommandContext } from '../context.ts';
import { addLogOptions, type Ends, example, nameList, volumeFlag } from '../flags.ts';
import type { ExportOptions, StoreOptions, VerifyOptions } from '../options.ts';
import { UsageError } from '../usage-error.ts';

export function addExportCommands(program: Command, context: CommandContext, ends: Ends): void {
  addExport(program, context, ends);
  addVerify(program, context, ends);
}

function addExport(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('export')
    .description('Export all rows that a query finds, each once: a SearchExport in a manifest, or an export by flags.')
    .argument(
      '[FILE]',
      'Manifest, or - for standard input. Without it: --query, --from, --to and -o define the export.',
    )
    .option('--query <query>', 'Query in the language of the service.')
    .option('--from <time>', 'Start of the range: 2026-11-01T00:00:00, with an offset, in ms, or -24h from now.')
    .option('--to <time>', 'End of the range, excluded; or now.')
    .option('--time-zone <zone>', 'Time zone of times without an offset, such as Europe/Berlin.')
    .option('-o, --output <where>', 'Destination: a directory, s3://BUCKET/FOLDER, or - for rows on stdout.');
  addRequestOptions(command);
  addStoreOptions(command, 'With -o s3://');
  // A manifest sets these itself.
  const ofFlagsAlone = command.options.map((option) => option.attributeName());
  command
    .option('--name <name>', 'Name of the export (default: export). With FILE: which of several.')
    .option('-n, --namespace <namespace>', 'Namespace of manifests without one (default: default).')
    .addOption(
      new Option('--volume <name=dir>', 'With FILE: directory below which the export may write. Repeatable.').argParser(
        volumeFlag,
      ),
    )
    .addOption(new Option('--secret <file>', 'File with Secrets. Repeatable.').argParser(fileList));
  // Without a terminal, warnings of the log would repeat the lines of the live view.
  addLogOptions(command, context.stderr.isTTY ? 'warn' : 'error')
    .addHelpText(
      'after',
      exportHelp +
        example(
          'logfleet export errors.yaml --volume exports=/srv/exports',
          'logfleet export --query error --from -24h --to now -o ./errors',
          'logfleet export --query error --from -1h --to -5m --format csv -o - | head',
        ),
    )
    .action((file: string | undefined, options: ExportOptions) => {
      refuseMixedForms(command, file, options, ofFlagsAlone);
      return ends(import('./export.ts').then(({ exportCommand }) => exportCommand(file, options, context)));
    });
}

/** Adds the flags for the other fields of the spec. */
function addRequestOptions(command: Command): void {
  command
    .option('--by-receipt-time', 'The range applies to receipt times, not to message times.')
    .addOption(
      choice('--auto-parsing-mode <mode>', 'How fields of JSON messages are parsed', ['Manual', 'AutoParse'], 'Manual'),
    )
    .addOption(
      choice('--results <what>', 'Messages, or records of an aggregation', ['Messages', 'Records'], 'Messages'),
    )
    .addOption(
      choice(
        '--format <format>',
        'Format of the files; with -o -, NDJSON or CSV',
        ['NDJSON', 'CSV', 'Parquet'],
        'NDJSON',
      ),
    )
    .addOption(
      choice('--compression <how>', 'Compression of the files; none with -o -', ['None', 'Gzip', 'Zstd'], 'Gzip'),
    )
    .addOption(new Option('--fields <a,b>', 'Fields to write, in this order (default: all).').argParser(nameList))
    .option('--max-part-size <size>', 'Maximum size of a file (default: 256Mi).')
    .addOption(
      new Option('--parallelism <n>', 'Maximum number of search jobs at once (default: 4).').argParser(wholeNumber),
    )
    .addOption(
      new Option('--max-messages <n>', 'Start no further search after this number of rows.').argParser(wholeNumber),
    )
    .option('--max-bytes-scanned <size>', 'Start no further search after this number of scanned bytes, such as 1Ti.')
    .addOption(new Option('--active-deadline-seconds <n>', 'Fail after this time.').argParser(wholeNumber))
    .addOption(
      choice(
        '--incomplete-policy <policy>',
        'Intervals that cannot be proven: fail, or keep them with a flag',
        ['Fail', 'Keep'],
        'Fail',
      ),
    )
    .addOption(
      choice(
        '--proof <how>',
        'Proof of completeness: by an aggregation, or by counts only',
        ['Digest', 'Count'],
        'Digest',
      ),
    )
    .option('--settle-delay <duration>', 'Minimum age of the searched data (default: 3m).');
}

/** Option with fixed values, in any mix of capitals. `fallback` is the default of the spec. */
function choice(flags: string, description: string, values: readonly string[], fallback: string): Option {
  return new Option(flags, `${description}: ${values.join(', ')} (default: ${fallback}).`).argParser((text) => {
    const meant = values.find((value) => value.toLowerCase() === text.toLowerCase());
    if (meant === undefined) throw new InvalidArgumentError(`Write ${values.join(' or ')}.`);
    return meant;
  });
}

/** Refuses flags of the other form, which would otherwise be ignored. */
function refuseMixedForms(
  command: Command,
  file: string | undefined,
  options: ExportOptions,
  ofFlagsAlone: readonly string[],
): void {
  const isGiven = (attribute: string) => command.getOptionValueSource(attribute) === 'cli';
  const flagOf = (attribute: string) => command.options.find((option) => option.attributeName() === attribute)?.long;
  if (file !== undefined) {
    const other = ofFlagsAlone.find(isGiven);
    if (other !== undefined)
      throw new UsageError(`${flagOf(other)} is for an export without a manifest: set the field in ${file} instead`);
    return;
  }
  if (isGiven('volume')) throw new UsageError('--volume is for an export with a manifest: write -o DIR');
  const { output } = options;
  const ofStore = output?.startsWith('s3://') ? undefined : storeAttributes.find(isGiven);
  if (output !== undefined && ofStore !== undefined) {
    throw new UsageError(`${flagOf(ofStore)} is for -o s3://, but the rows go to -o ${output}: remove it`);
  }
  const missing = (['query', 'from', 'to'] as const).filter((attribute) => !options[attribute]);
  if (missing.length === 0) return;
  const flags = missing.map(flagOf).join(' and ');
  throw new UsageError(
    `${flags} ${missing.length === 1 ? 'is' : 'are'} missing: write ${missing.length === 1 ? 'it' : 'them'}, or name a manifest`,
  );
}

const storeAttributes = ['endpoint', 'region', 'pathStyle', 'insecure'] as const satisfies (keyof StoreOptions)[];

function addStoreOptions(command: Command, when: string): Command {
  return command
    .option('--endpoint <url>', `${when}: address of the store (default: Amazon S3).`)
    .option('--region <name>', `${when}: region of the bucket (default: AWS_REGION, else us-east-1).`)
    .option('--path-style', `${when}: put the name of the bucket into the path, as many stores require.`)
    .option('--insecure', `${when}: allow an http:// endpoint.`);
}

function addVerify(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('verify')
    .description('Read the files of an export and prove them against its manifest. Writes nothing.')
    .argument('<MANIFEST>', 'Manifest or its folder: a path, or s3://BUCKET/…. A folder can contain several exports.');
  addStoreOptions(command, 'With s3://')
    .addOption(
      new Option('-o, --output <format>', 'Format: a table of checks, or JSON.')
        .choices(['table', 'json'])
        .default('table'),
    )
    .addHelpText(
      'after',
      verifyHelp +
        example(
          'logfleet verify /srv/exports',
          'logfleet verify s3://audit/logs/prod/errors/3f2a… --region eu-central-1',
        ),
    )
    .action((manifest: string, options: VerifyOptions) =>
      ends(import('../verify/verify.ts').then(({ verifyCommand }) => verifyCommand(manifest, options, context))),
    );
}

const exportHelp = `
Prints the address of the manifest to stdout. After an interrupt, the same
command continues from the committed intervals (-24h is a new range each time).
With -o -, rows are printed from the oldest to the newest, after all of them are
proven; with --incomplete-policy Keep, unproven rows too.
Data newer than --settle-delay is searched later: an export --to now waits.
The credentials of the service are in a Secret in FILE or --secret, or in the
variables LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and
LOGFLEET_CA_FILE.
The credentials of a store are in a Secret that the manifest names, or in the
environment, such as AWS_ACCESS_KEY_ID.
`;

const verifyHelp = `
Ends with 0 if every row exists exactly once, and with 1 if something differs or
is incomplete. Credentials for s3:// come from the environment:
AWS_ACCESS_KEY_ID and similar variables, files, roles.
`;
