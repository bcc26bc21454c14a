/** The descriptions of the commands about exports alone: `export` and `verify`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { addLogOptions, type Ends, example } from './command-parts.ts';
import type { CommandContext } from './context.ts';
import { volumeFlag } from './export-places.ts';
import { fileList, nameList, wholeNumber } from './flag-values.ts';
import type { ExportOptions, StoreOptions, VerifyOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

export function addExportCommands(program: Command, context: CommandContext, ends: Ends): void {
  addExport(program, context, ends);
  addVerify(program, context, ends);
}

function addExport(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('export')
    .description('export what a query finds, every row once: a SearchExport of a manifest, or what flags say')
    .argument('[FILE]', 'a manifest, or - for standard input; none: --query, --from, --to and -o say what')
    .option('--query <query>', 'what to search for, in the query language of the service')
    .option('--from <time>', 'its first moment: 2026-11-01T00:00:00, with an offset, in ms, or -24h from now')
    .option('--to <time>', 'the moment at which it ends, not included; or now')
    .option('--time-zone <zone>', 'of times without an offset, as in Europe/Berlin')
    .option(
      '-o, --output <where>',
      'where to: a directory, s3://BUCKET/FOLDER, or - for the rows themselves on stdout',
    );
  addRequestOptions(command);
  addStoreOptions(command, 'with -o s3://');
  // A manifest says these itself.
  const ofFlagsAlone = command.options.map((option) => option.attributeName());
  command
    .option('--name <name>', 'what it is called (default: export); with FILE: which of several')
    .option('-n, --namespace <namespace>', 'of manifests that name none (default: default)')
    .addOption(
      new Option('--volume <name=dir>', 'with FILE: a directory that it may write below; may be given often').argParser(
        volumeFlag,
      ),
    )
    .addOption(new Option('--secret <file>', 'a file with Secrets; may be given often').argParser(fileList));
  // Elsewhere a line of the log would say what the line beside it says.
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

/** The rest of what a spec may say, by its own names. */
function addRequestOptions(command: Command): void {
  command
    .option('--by-receipt-time', 'the range is about when the service received a message')
    .addOption(
      choice('--auto-parsing-mode <mode>', 'whether fields of JSON messages count', ['Manual', 'AutoParse'], 'Manual'),
    )
    .addOption(
      choice('--results <what>', 'messages, or the records of an aggregation', ['Messages', 'Records'], 'Messages'),
    )
    .addOption(
      choice(
        '--format <format>',
        'what files look like, with -o - NDJSON or CSV',
        ['NDJSON', 'CSV', 'Parquet'],
        'NDJSON',
      ),
    )
    .addOption(
      choice('--compression <how>', 'how files are packed, with -o - not at all', ['None', 'Gzip', 'Zstd'], 'Gzip'),
    )
    .addOption(new Option('--fields <a,b>', 'the fields to write, in this order (default: all)').argParser(nameList))
    .option('--max-part-size <size>', 'how large a file may become (default: 256Mi)')
    .addOption(new Option('--parallelism <n>', 'search jobs side by side at most (default: 4)').argParser(wholeNumber))
    .addOption(new Option('--max-messages <n>', 'begin no further search after so many rows').argParser(wholeNumber))
    .option('--max-bytes-scanned <size>', 'search no further once the service has scanned so much, as in 1Ti')
    .addOption(new Option('--active-deadline-seconds <n>', 'fail after so long').argParser(wholeNumber))
    .addOption(
      choice(
        '--incomplete-policy <policy>',
        'what cannot be proven: an end, or kept and flagged',
        ['Fail', 'Keep'],
        'Fail',
      ),
    )
    .addOption(
      choice(
        '--proof <how>',
        'how rows are proven to be all: by an aggregation, or by counts alone',
        ['Digest', 'Count'],
        'Digest',
      ),
    )
    .option('--settle-delay <duration>', 'search nothing newer than so long ago (default: 3m)');
}

/** One of these, in any spelling of its letters; `fallback` is that of the spec. */
function choice(flags: string, description: string, values: readonly string[], fallback: string): Option {
  return new Option(flags, `${description}: ${values.join(', ')} (default: ${fallback})`).argParser((text) => {
    const meant = values.find((value) => value.toLowerCase() === text.toLowerCase());
    if (meant === undefined) throw new InvalidArgumentError(`Write ${values.join(' or ')}.`);
    return meant;
  });
}

/** A flag that is for the other form would be ignored in silence. */
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
      throw new UsageError(`${flagOf(other)} is for an export without a manifest: write it into ${file}`);
    return;
  }
  if (isGiven('volume')) throw new UsageError('--volume is for a manifest, and none is named: write -o DIR');
  const { output } = options;
  const ofStore = output?.startsWith('s3://') ? undefined : storeAttributes.find(isGiven);
  if (output !== undefined && ofStore !== undefined) {
    throw new UsageError(`${flagOf(ofStore)} is for -o s3://, and rows go to -o ${output}: leave it out`);
  }
  const missing = (['query', 'from', 'to'] as const).filter((attribute) => !options[attribute]);
  if (missing.length === 0) return;
  const flags = missing.map(flagOf).join(' and ');
  throw new UsageError(
    `name a manifest, or say what to export: ${flags} ${missing.length === 1 ? 'is' : 'are'} missing`,
  );
}

const storeAttributes = ['endpoint', 'region', 'pathStyle', 'insecure'] as const satisfies (keyof StoreOptions)[];

function addStoreOptions(command: Command, when: string): Command {
  return command
    .option('--endpoint <url>', `${when}: the store's address (default: Amazon's own)`)
    .option('--region <name>', `${when}: the region of the bucket (default: AWS_REGION, else us-east-1)`)
    .option('--path-style', `${when}: put the bucket's name into the path, as many stores need`)
    .option('--insecure', `${when}: let the endpoint be http://`);
}

function addVerify(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('verify')
    .description("read an export's files again and prove them against its manifest; writes nothing")
    .argument('<MANIFEST>', 'the manifest, or its folder: a path, or s3://BUCKET/…; a path may be above several');
  addStoreOptions(command, 'with s3://')
    .addOption(
      new Option('-o, --output <format>', 'how to say it: a table of what is proven, or JSON')
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
      ends(import('./verify.ts').then(({ verifyCommand }) => verifyCommand(manifest, options, context))),
    );
}

const exportHelp = `
Prints the address of the manifest on stdout. What is committed stays when it is
interrupted, and the same command goes on from there (-24h is another range each
time); with -o - rows go out once all of them are proven, from the oldest on;
with --incomplete-policy Keep, also what is not proven.
Nothing newer than --settle-delay is searched: an export --to now waits so long.
Credentials stand in a Secret in FILE or --secret, or in the variables
LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE;
those of a store in a Secret that the manifest names, else in the environment's
chain: AWS_ACCESS_KEY_ID and its like.
`;

const verifyHelp = `
Ends with 0 where every row is there once, and with 1 where something differs or
is incomplete. Credentials for s3:// come from the environment's chain:
AWS_ACCESS_KEY_ID and its like, files, roles.
`;
