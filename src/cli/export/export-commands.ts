/** Flags and help of the commands about exports: `export` and `verify`. */
import type { Command } from 'commander';
import { fileList } from '../../base/flag-values.ts';
import type { CommandContext } from '../context.ts';
import { addLogOptions, type Ends, example, oneOf, volumeFlag } from '../flags.ts';
import type { ExportOptions, VerifyOptions } from '../options.ts';
import { UsageError } from '../usage-error.ts';
import { fieldFlags, storeFlags } from './field-flags.ts';

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
    .option('-o, --output <where>', 'Destination: a directory, s3://BUCKET/FOLDER, or - for rows on stdout.');
  for (const { option } of fieldFlags) command.addOption(option);
  // These flags are refused with a manifest, because a manifest sets the same values
  // itself.
  const ofFlagsAlone = command.options.map((option) => option.attributeName());
  command
    .option('--name <name>', 'Name of the export (default: export). With FILE: which of several.')
    .option('-n, --namespace <namespace>', 'Namespace of manifests without one (default: default).')
    .option('--volume <name=dir>', 'With FILE: directory below which the export may write. Repeatable.', volumeFlag)
    .option('--secret <file>', 'File with Secrets. Repeatable.', fileList);
  // On a terminal, the log shows errors only, because its warnings would repeat
  // lines of the live view.
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

/**
 * Refuses flags that do not fit the given form of the export (manifest or flags).
 * Such flags would otherwise be ignored.
 */
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

const storeAttributes = storeFlags('').map(({ attribute }) => attribute);

function addVerify(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('verify')
    .description('Read the files of an export and prove them against its manifest. Writes nothing.')
    .argument('<MANIFEST>', 'Manifest or its folder: a path, or s3://BUCKET/…. A folder can contain several exports.');
  for (const { option } of storeFlags('With s3://')) command.addOption(option);
  command
    .addOption(oneOf('-o, --output <format>', 'Format: a table of checks, or JSON.', ['table', 'json'], 'table'))
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
