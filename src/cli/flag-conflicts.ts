/** Checks for command lines whose flags and arguments contradict each other. Each check throws a `UsageError`. */
import type { Command } from 'commander';
import { invocation } from './command/invocation.ts';
import type { ExportOptions, ForgetOptions, PauseOptions, StoreOptions } from './command/options.ts';
import { flagsOfS3, isStoreAddress } from './command/store-address.ts';
import { UsageError } from './command/usage-error.ts';
import { fieldFlags, storeFlags } from './export/field-flags.ts';

/** Option names of the flags of `run` that are only for clusters. */
const clusterAttributes = [
  ...['kubeconfig', 'context', 'namespaces', 'operatorNamespace', 'leaderElection', 'notificationSecret'],
];

/** Rejects flags for a cluster in combination with a directory, and a directory that is not an argument. */
export function refuseMixedHosts(command: Command): void {
  const [directory] = command.args;
  if (isGiven(command, 'dir'))
    throw new UsageError(
      `--dir is not a flag of this command, which takes directories as arguments: write ${invocation('run DIR')}`,
    );
  if (directory === undefined) {
    if (command.getOptionValueSource('dir') === 'env')
      throw new UsageError(
        `LOGFLEET_DIR is set, but this command takes directories as arguments: write ${invocation('run "$LOGFLEET_DIR"')}, or unset LOGFLEET_DIR to run the operator in a cluster`,
      );
    if (!isGiven(command, 'watch')) return;
    throw new UsageError(
      '--watch is only for directories: remove --watch, because the operator of a cluster always runs until it receives a signal',
    );
  }
  const given = flagAmong(command, clusterAttributes);
  if (given) throw new UsageError(`${given} is for a cluster, but ${directory} is a directory: remove one of them`);
}

/** Requires either a resource or `--all`, and rejects flags that would have no effect. */
export function refuseMixedTargets(command: Command): void {
  const { all, dir } = command.opts<PauseOptions>();
  const [target] = command.args;
  const name = command.name();
  if (target === undefined && !all) {
    throw new UsageError(
      `a resource or --all is missing: write ${name} cvp/production for a policy, ${name} sx/errors for an export, or ${name} --all`,
    );
  }
  if (target !== undefined && all)
    throw new UsageError(`--all means all resources, but ${target} is one resource: remove one of them`);
  if (all && isGiven(command, 'namespace')) {
    throw new UsageError(
      '--all means all namespaces, but -n selects one: remove -n. To select the operator, use --operator-namespace',
    );
  }
  if (isGiven(command, 'operatorNamespace') && (!all || dir !== undefined)) {
    throw new UsageError(
      '--operator-namespace selects the operator of a cluster for --all: remove the flag, or use it with --all and without --dir',
    );
  }
}

/** Requires the flag `--dir`. */
export function requireDirectory(command: Command): void {
  if (command.opts<Partial<ForgetOptions>>().dir !== undefined) return;
  throw new UsageError('--dir is missing: add --dir DIR, where DIR is the directory that contained the manifest');
}

/** Option names of the flags that define an export. Using them together with a manifest is an error. */
const exportAttributes = ['output', ...fieldFlags.map(({ attribute }) => attribute)];

/**
 * Checks the flags of `export`. With a manifest, rejects the flags that define an export. Without a manifest, requires
 * these flags and rejects `--volume`.
 */
export function refuseMixedForms(command: Command): void {
  const [file] = command.args;
  if (file !== undefined) {
    const other = flagAmong(command, exportAttributes);
    if (!other) return;
    throw new UsageError(
      `${other} is only for an export without a manifest: remove ${other}, and set the field in ${file} instead`,
    );
  }
  if (isGiven(command, 'volume'))
    throw new UsageError('--volume is only for an export with a manifest: use -o DIR instead of --volume');
  const options = command.opts<ExportOptions>();
  if (options.output !== undefined) checkStoreFlags(command, `-o ${options.output}`, options.output);
  const missing = (['query', 'from', 'to'] as const).filter((name) => !options[name]).map((name) => `--${name}`);
  if (missing.length === 0) return;
  const flags = missing.join(' and ');
  throw new UsageError(`an export without a manifest needs ${flags}: add ${flags}, or name a manifest`);
}

/**
 * Rejects flags of `verify` that have no effect, because the manifest is not in S3 or because `--schedule` is missing.
 * Rejects an unencrypted store without `--insecure`.
 */
export function checkVerifyFlags(command: Command): void {
  const [manifest = ''] = command.args;
  checkStoreFlags(command, manifest, manifest);
  const ofSchedule = isGiven(command, 'schedule') ? undefined : flagAmong(command, ['manifestsOnly', 'from', 'to']);
  if (ofSchedule)
    throw new UsageError(
      `${ofSchedule} applies only to the runs of a schedule: add --schedule, or remove ${ofSchedule}`,
    );
}

/**
 * Rejects object store flags that have no effect for the destination `place`, and an unencrypted store without
 * `--insecure`. Error messages call the destination `name`.
 */
function checkStoreFlags(command: Command, name: string, place: string): void {
  refuseUnusedStoreFlags(command, name, place);
  const { endpoint = '', insecure } = command.opts<StoreOptions>();
  if (
    !isStoreAddress(place) ||
    insecure ||
    [place, endpoint].every((address) => URL.parse(address)?.protocol !== 'http:')
  )
    return;
  // The message does not contain the address, which may contain a password.
  throw new UsageError(
    'the connection to the store is not encrypted: use an address that begins with https://, or add --insecure',
  );
}

/** Rejects object store flags that have no effect for the destination `place`. */
function refuseUnusedStoreFlags(command: Command, name: string, place: string): void {
  if (place.startsWith('s3://')) return;
  const unused = flagAmong(command, isStoreAddress(place) ? flagsOfS3 : storeFlags().map(({ attribute }) => attribute));
  if (unused) throw new UsageError(`${unused} has no effect, because ${name} is not in an S3 store: remove ${unused}`);
}

/** Returns true if the command line contains the flag. `attribute` is the flag's name in the parsed options. */
function isGiven(command: Command, attribute: string): boolean {
  return command.getOptionValueSource(attribute) === 'cli';
}

/** Returns the first of the flags that the command line contains. */
function flagAmong(command: Command, attributes: readonly string[]): string | undefined {
  const attribute = attributes.find((each) => isGiven(command, each));
  return command.options.find((option) => option.attributeName() === attribute)?.long;
}
