/** The imports that are allowed between folders of `src` and `simulator`, as a table. ARCHITECTURE.md gives the reasons. */
import { dirname, posix } from 'node:path';
import type { SourceFile } from './source-file.ts';

/** `host` is the port; its adapters are parts of their own, which only `cli` may import. */
export type Part =
  | 'cli'
  | 'policy'
  | 'export'
  | 'fleet'
  | 'account'
  | 'controller'
  | 'destination'
  | 'host'
  | 'host/kubernetes'
  | 'host/directory'
  | 'service'
  | 'output'
  | 'api'
  | 'base'
  | 'simulator';

interface Leave {
  /** Parts that it may import besides itself. */
  readonly parts: readonly Part[];
  /** Libraries. The inner parts have none, so that they stay what a test can run by the thousand. */
  readonly libraries: readonly string[];
}

const all: readonly Part[] = [
  ...(['policy', 'export', 'fleet', 'account', 'controller', 'host', 'host/kubernetes', 'host/directory'] as const),
  ...(['destination', 'output', 'service', 'api', 'base'] as const),
];

export const leaves: Readonly<Record<Part, Leave>> = {
  cli: { parts: all, libraries: ['commander', 'yaml', '@kubernetes/client-node'] },
  policy: { parts: ['fleet', 'account', 'service', 'api', 'base', 'controller', 'host'], libraries: [] },
  export: {
    parts: ['account', 'controller', 'destination', 'host', 'output', 'service', 'api', 'base'],
    libraries: [],
  },
  fleet: { parts: ['account', 'service', 'api', 'base'], libraries: [] },
  account: { parts: ['host', 'service', 'api', 'base'], libraries: [] },
  controller: { parts: ['host', 'api', 'base'], libraries: [] },
  destination: { parts: ['base'], libraries: ['@aws-sdk/client-s3', 'hyparquet'] },
  host: { parts: ['api', 'base'], libraries: [] },
  'host/kubernetes': { parts: ['host', 'api', 'base'], libraries: ['@kubernetes/client-node', 'undici'] },
  'host/directory': { parts: ['host', 'api', 'base'], libraries: ['yaml'] },
  service: { parts: ['base'], libraries: ['undici', 'tough-cookie'] },
  output: { parts: ['base'], libraries: ['hyparquet-writer'] },
  api: { parts: ['base'], libraries: ['ajv', 'yaml', '@marcbachmann/cel-js'] },
  base: { parts: [], libraries: ['commander', 'croner', 'pino', 'prom-client'] },
  simulator: { parts: ['base'], libraries: ['ajv', 'commander', 're2js', 'selfsigned', 'yaml'] },
};

/** The only file of `src` that may import `simulator`: the command that runs it. */
const simulateCommand = 'src/cli/simulate.ts';

/** The part that a file belongs to; undefined for a folder that the table does not know. */
export function partOf(path: string): Part | undefined {
  const [top, folder = '', inner = ''] = path.split('/');
  if (top === 'simulator') return top;
  if (folder === 'main.ts') return 'cli';
  const part = folder === 'host' && !inner.endsWith('.ts') ? `${folder}/${inner}` : folder;
  return Object.hasOwn(leaves, part) ? (part as Part) : undefined;
}

/** One sentence for each import that the table does not allow. */
export function edgeViolations(file: SourceFile): string[] {
  const part = partOf(file.path);
  if (!part) return [`${file.path}: its folder is not in the table of import edges`];
  return file.imports.flatMap(({ specifier, line }) => {
    const reason = refusal(part, file.path, specifier);
    return reason === undefined ? [] : [`${file.path}:${line}: ${reason}`];
  });
}

function refusal(part: Part, path: string, specifier: string): string | undefined {
  if (specifier.startsWith('node:')) return undefined;
  if (!specifier.startsWith('.')) {
    const library = libraryOf(specifier);
    return leaves[part].libraries.includes(library) ? undefined : `${part} may not import the library ${library}`;
  }
  const target = posix.join(dirname(path), specifier);
  const imported = /^(?:src|simulator)\//.test(target) ? partOf(target) : undefined;
  if (!imported) return `${target} is no part of src`;
  if (imported === 'simulator' && part !== 'simulator') {
    return path === simulateCommand ? undefined : `only ${simulateCommand} may import simulator`;
  }
  return imported === part || leaves[part].parts.includes(imported) ? undefined : `${part} may not import ${imported}`;
}

function libraryOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
