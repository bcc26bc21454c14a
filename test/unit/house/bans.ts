/**
 * What only ports may touch: clock, timers, randomness, network, disk, and the process itself. Everything else gets these
 * passed in, so that thousands of histories run on a virtual clock.
 */
import type { SourceFile, SyntaxNode } from './source-file.ts';

interface Ban {
  readonly what: string;
  /** Files, or folders with a slash at the end, where it is allowed. */
  readonly allowed: readonly string[];
  readonly modules?: readonly string[];
  /** Global names. */
  readonly globals?: readonly string[];
  /** `Object.member`. */
  readonly members?: readonly string[];
  /** Members and imported names, whatever they are taken from. */
  readonly names?: readonly string[];
}

const program = ['src/cli/', 'src/main.ts', 'simulator/main.ts'];

export const bans: readonly Ban[] = [
  {
    what: 'the clock and timers: take a Clock (src/base/clock.ts)',
    allowed: ['src/base/clock.ts'],
    modules: ['node:timers', 'node:timers/promises', 'node:perf_hooks'],
    globals: ['setTimeout', 'setInterval', 'setImmediate', 'performance', 'globalThis'],
    members: ['Date.now', 'process.hrtime', 'process.uptime', 'process.nextTick', 'AbortSignal.timeout'],
  },
  {
    what: 'randomness: take a Random (src/base/random.ts)',
    allowed: ['src/base/random.ts', 'simulator/certificates.ts'],
    members: ['Math.random'],
    names: ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'getRandomValues'],
  },
  {
    what: 'the network: use the transports of the service and of Kubernetes',
    allowed: [
      // Addresses alone.
      'src/base/proxy-environment.ts',
      'src/service/transport/',
      'src/destination/s3/',
      'src/host/kubernetes/',
      'simulator/server.ts',
      'simulator/delivery.ts',
      'src/cli/run/health-server.ts',
    ],
    modules: ['node:net', 'node:tls', 'node:http', 'node:https', 'node:http2', 'node:dgram', 'node:dns', 'undici'],
    globals: ['fetch', 'WebSocket', 'EventSource'],
  },
  {
    what: 'the disk: use the host, or read in the command line and pass on',
    allowed: [
      ...program,
      'src/base/process-identity.ts',
      'src/destination/volume/',
      'src/host/directory/',
      'src/base/folders-above.ts',
      'simulator/certificates.ts',
      'simulator/journal-file.ts',
      'simulator/log-choice.ts',
      'simulator/simulate.ts',
    ],
    modules: ['node:fs', 'node:fs/promises'],
  },
  {
    what: 'the process: read it in the command line and pass on',
    allowed: program,
    members: ['env', 'argv', 'exit', 'exitCode', 'on', 'once', 'cwd', 'stdin', 'stdout', 'stderr'].map(
      (member) => `process.${member}`,
    ),
    modules: ['node:process', 'node:child_process', 'node:worker_threads', 'node:cluster'],
  },
];

/** One sentence for each use of what is not for this file. */
export function banViolations(file: SourceFile): string[] {
  return bans
    .filter(
      ({ allowed }) =>
        !allowed.some((place) => file.path === place || (place.endsWith('/') && file.path.startsWith(place))),
    )
    .flatMap((ban) => violationsOf(ban, file));
}

function violationsOf(ban: Ban, file: SourceFile): string[] {
  const found: string[] = [];
  const add = (line: number, use: string) => found.push(`${file.path}:${line}: ${use} is ${ban.what}`);
  for (const { specifier, line } of file.imports) {
    const module = nodeModules.has(specifier) ? `node:${specifier}` : specifier;
    if (ban.modules?.includes(module)) add(line, `import of ${specifier}`);
  }
  file.walk((node, ancestors) => {
    const use = usedMember(node) ?? usedName(node, ancestors.at(-1));
    if (use === undefined) return;
    const [owner, name = ''] = use.includes('.') ? use.split('.') : [undefined, use];
    if (ban.members?.includes(use) || ban.names?.includes(name)) add(file.lineOf(node), use);
    else if (owner === undefined && ban.globals?.includes(use)) add(file.lineOf(node), use);
  });
  if (ban.members?.includes('Date.now'))
    file.walk((node) => isNow(node) && add(file.lineOf(node), 'Date without an argument'));
  return found;
}

const nodeModules = new Set(['fs', 'fs/promises', 'net', 'tls', 'http', 'https', 'http2', 'dgram', 'dns', 'timers']);

/** `Date.now` of the expression `Date.now`, also when written `Date['now']`. */
function usedMember(node: SyntaxNode): string | undefined {
  if (node.type !== 'MemberExpression') return undefined;
  const object = node['object'] as SyntaxNode;
  const property = node['property'] as SyntaxNode;
  const name = node['computed'] === true ? property['value'] : property['name'];
  return typeof name === 'string' ? `${object.type === 'Identifier' ? object['name'] : ''}.${name}` : undefined;
}

/** The name of an identifier that stands for itself: no member, no key, no label. */
function usedName(node: SyntaxNode, parent: SyntaxNode | undefined): string | undefined {
  if (node.type !== 'Identifier' || !parent) return undefined;
  const isMemberName = parent.type === 'MemberExpression' && parent['property'] === node && parent['computed'] !== true;
  const isKey = parent['key'] === node && parent['computed'] !== true && parent['shorthand'] !== true;
  const isTypeName = parent.type === 'TSQualifiedName' && parent['right'] === node;
  return isMemberName || isKey || isTypeName ? undefined : (node['name'] as string);
}

/** `new Date()` and `Date()`. */
function isNow(node: SyntaxNode): boolean {
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return false;
  const isDate = (node['callee'] as SyntaxNode)['name'] === 'Date';
  return isDate && (node.type === 'CallExpression' || (node['arguments'] as readonly unknown[]).length === 0);
}
