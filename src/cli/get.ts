/**
 * `logfleet get`: the status of resources, from a cluster or from a directory. All of a kind come as the table that
 * `kubectl get` shows; one by its name comes in full.
 */
import { type KindName, kinds } from '../api/kinds.ts';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { createPresenter } from './get-watch.ts';
import type { GetOptions } from './options.ts';
import { renderDocuments, renderResourceTable } from './render/resource-table.ts';
import { renderResource } from './render/resource-view.ts';
import {
  type AnyResource,
  findResource,
  kindNamed,
  type OpenResources,
  openResources,
  type ResourceReader,
} from './resource-access.ts';
import { UsageError } from './usage-error.ts';
import { isComplete, wayOn, wayToApprove, withWholeCommands } from './way-on.ts';

interface GetDependencies {
  readonly open: OpenResources;
  readonly clock: Clock;
}

/** What the arguments ask for. */
export interface GetRequest {
  readonly kinds: readonly KindName[];
  readonly name: string | undefined;
  readonly options: GetOptions;
}

export async function getCommand(
  kindText: string | undefined,
  nameText: string | undefined,
  options: GetOptions,
  context: CommandContext,
  { open, clock }: GetDependencies = { open: openResources, clock: systemClock },
): Promise<number> {
  const request = readRequest(kindText, nameText, options);
  const reader = await open(options, context);
  try {
    if (options.watch) await follow(request, reader, context, clock);
    else await show(request, reader, context, clock);
    return exitStatus.ok;
  } finally {
    await reader.close();
  }
}

/** Takes `get cvp NAME` and `get cvp/NAME` alike. */
function readRequest(kindText: string | undefined, nameText: string | undefined, options: GetOptions): GetRequest {
  if (kindText === undefined) return { kinds: Object.keys(kinds) as KindName[], name: undefined, options };
  const [kindPart = '', ...nameParts] = kindText.split('/');
  const name = nameText ?? (nameParts.join('/') || undefined);
  if (name !== undefined && (nameParts.length > 1 || (nameText !== undefined && nameParts.length > 0))) {
    throw new UsageError(
      `'${kindText}${nameText === undefined ? '' : ` ${nameText}`}' names more than one resource; write one, as in cvp production`,
    );
  }
  if (name !== undefined && options.allNamespaces) {
    throw new UsageError(
      `${name} is one resource and -A is for all of them: leave -A out, and say -n NAMESPACE instead`,
    );
  }
  return { kinds: [kindNamed(kindPart)], name, options };
}

async function show(request: GetRequest, reader: ResourceReader, context: CommandContext, clock: Clock): Promise<void> {
  const resources = await gather(request, reader);
  const { output } = request.options;
  const { stdout } = context;
  if (output === 'json' || output === 'yaml') {
    stdout.write(renderDocuments(resources, output, request.name !== undefined));
    return;
  }
  const [first] = resources;
  if (!first) {
    context.stderr.write(`${noneFound(request, reader)}\n`);
    return;
  }
  const nowMs = clock.now();
  const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
  const lines =
    request.name !== undefined && output === 'table'
      ? renderResource(withWholeCommands(first, request.options), {
          width,
          colour: stdout.colour,
          nowMs,
          wayOn: wayOn(first, request.options),
          approve: wayToApprove(first, request.options),
        })
      : renderResourceTable(resources, {
          wide: output === 'wide',
          withNamespace: showsNamespace(request, reader),
          nowMs,
          width,
        });
  stdout.write(lines.map((line) => `${line}\n`).join(''));
  await tellIdle(resources, reader, context);
}

/** What status says was so when somebody looked last, and goes on saying it: of a process that was killed, for ever. */
async function tellIdle(resources: readonly AnyResource[], reader: ResourceReader, { stderr }: CommandContext) {
  if (resources.every(isComplete)) return;
  const note = await reader.idleNote?.();
  if (note !== undefined) stderr.write(`${note}\n`);
}

async function gather(
  { kinds: wanted, name, options }: GetRequest,
  reader: ResourceReader,
): Promise<readonly AnyResource[]> {
  const [kind] = wanted;
  if (kind !== undefined && name !== undefined) return [await findResource(reader, kind, name, options)];
  const lists = await Promise.all(wanted.map((one) => reader.list(one, namespaceOf(options, reader))));
  return lists.flat();
}

async function follow(
  request: GetRequest,
  reader: ResourceReader,
  context: CommandContext,
  clock: Clock,
): Promise<void> {
  const { options, name } = request;
  let namespace = namespaceOf(options, reader);
  const first = name !== undefined || reader.idleNote ? await gather(request, reader) : [];
  if (name !== undefined) namespace = first[0]?.metadata.namespace;
  const presenter = createPresenter(request, showsNamespace(request, reader), context, clock);
  const byKind = new Map<KindName, readonly AnyResource[]>();
  const lookWhetherIdle = async () => {
    const shown = byKind.size === 0 ? first : [...byKind.values()].flat();
    presenter.idle(shown.every(isComplete) ? undefined : await reader.idleNote?.());
  };
  const show = () => {
    if (byKind.size < request.kinds.length) return;
    const resources = request.kinds.flatMap((kind) => byKind.get(kind) ?? []);
    presenter.show(name === undefined ? resources : resources.filter(({ metadata }) => metadata.name === name));
  };
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  try {
    const tellsIdle = reader.idleNote && options.output !== 'json' && options.output !== 'yaml';
    if (tellsIdle) await lookWhetherIdle();
    await Promise.all([
      ...(tellsIdle ? [everyNowAndThen(lookWhetherIdle, clock, signal)] : []),
      ...request.kinds.map(async (kind) => {
        try {
          await reader.follow(
            kind,
            namespace,
            (resources) => {
              byKind.set(kind, resources);
              show();
            },
            signal,
            // Of several kinds one tells of it for all.
            kind === request.kinds[0] ? (message) => presenter.trouble(message) : undefined,
          );
        } finally {
          // Whichever ends first, by the signal or by an error, ends the others.
          failed.abort();
        }
      }),
    ]);
  } finally {
    presenter.end();
  }
}

/** Whether somebody works on a directory is looked at this often. */
const idleLookMs = 5_000;

async function everyNowAndThen(look: () => Promise<void>, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, idleLookMs, signal).catch(() => {});
    if (!signal.aborted) await look();
  }
}

function namespaceOf(options: GetOptions, reader: ResourceReader): string | undefined {
  return options.allNamespaces ? undefined : (options.namespace ?? reader.defaultNamespace);
}

function showsNamespace({ options }: GetRequest, reader: ResourceReader): boolean {
  return namespaceOf(options, reader) === undefined;
}

function noneFound({ kinds: wanted, options }: GetRequest, reader: ResourceReader): string {
  const names = wanted.map((kind) => kinds[kind].plural).join(' or ');
  const namespace = namespaceOf(options, reader);
  if (namespace === undefined) return `No ${names} in ${reader.place}.`;
  return `No ${names} in namespace ${namespace} of ${reader.place}; -A looks in all namespaces.`;
}
