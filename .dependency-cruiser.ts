/**
 * Rules for dependency-cruiser, a tool that checks imports. One table lists the folders that each folder may import.
 * The other lists the files that may import each npm package and each module of Node. All other imports are errors in
 * `src/` and `simulator/`, even if they import only types.
 *
 * The paths in the tables are patterns. `folder/*` matches the files directly in the folder, and `folder/**` also
 * matches the files in its subfolders.
 */
import type { IConfiguration, IForbiddenRuleType } from 'dependency-cruiser';

/** One row of the table that says which files the files of a folder may import. */
interface FolderRow {
  readonly folder: string;
  /**
   * Order of the folder's subfolders. A subfolder may import only subfolders that come earlier in the list. Subfolders
   * in the same string, separated by spaces, must not import each other. `.` means the files directly in the folder.
   */
  readonly order?: readonly string[];
  /** Patterns for the files outside the folder that every file in the folder may import. */
  readonly imports: readonly string[];
  readonly why: string;
}

/** One row of the table that says which files may import certain npm packages or modules of Node. */
interface ModuleRow {
  /** Names, separated by spaces. */
  readonly modules: string;
  /** Patterns for the files that may import the packages or modules of this row. */
  readonly users: readonly string[];
  readonly why: string;
}

const [base, api, host, service] = ['src/base/*', 'src/api/**', 'src/host/host.ts', 'src/service/**'];

// biome-ignore format: one row, one folder
export const folderRows: readonly FolderRow[] = [
  { folder: 'src/base', imports: [],
    why: 'General code does not depend on what logfleet does.' },
  { folder: 'src/api', order: ['generated', '.'], imports: [base],
    why: 'Manifests are checked without a host and without the service.' },
  { folder: 'src/host', order: ['.', 'directory kubernetes'], imports: [api, base],
    why: 'A cluster and a directory are interchangeable behind the interface in host.ts.' },
  { folder: 'src/notifications', imports: [host, api, base],
    why: 'Notifications only read resources.' },
  { folder: 'src/controller', imports: [host, api, base],
    why: 'The queue and the workers do not depend on the kinds that they reconcile.' },
  { folder: 'src/output', imports: [base],
    why: 'The conversion of rows to bytes does not depend on the service or on the store.' },
  { folder: 'src/destination', order: ['store', 'azure gcs s3 volume', '.'], imports: [base],
    why: 'Stores are interchangeable behind the interface in destination/store.' },
  { folder: 'src/service', order: ['budget json', 'transport', 'requests', 'collectors pages', 'jobs', '.'], imports: [base],
    why: 'The client of the service does not depend on resources.' },
  { folder: 'src/account', imports: [host, service, api, base],
    why: 'All kinds share the clients and the request budget of an account.' },
  { folder: 'src/fleet', imports: ['src/account/*', service, api, base],
    why: 'Collectors are listed once for all policies.' },
  { folder: 'src/policy', order: ['ledger schedule', 'attempts', 'analysis', 'members', 'rollout', 'admission', 'status', '.', 'plan'],
    imports: ['src/fleet/*', 'src/account/*', service, 'src/controller/*', host, api, base],
    why: 'Policies share no code with exports and schedules.' },
  { folder: 'src/export', order: ['search', 'plan', 'proof', 'work', 'resource', 'status', 'jobs', '.'],
    imports: ['src/account/*', 'src/controller/*', 'src/destination/**', host, 'src/host/worker-jobs.ts', 'src/output/*', service, api, base],
    why: 'Exports share no code with policies, and do not depend on schedules.' },
  { folder: 'src/schedule', imports: ['src/export/resource/*', 'src/account/*', 'src/controller/*', 'src/destination/**', host, api, base],
    why: 'A schedule creates resources of the kind SearchExport, and does not export itself.' },
  { folder: 'src/cli', order: ['command', 'operator render', 'live resources', 'fleet get person plan run verify', 'export ui', '.'],
    imports: ['src/account/*', 'src/controller/*', 'src/destination/**', 'src/export/**', 'src/fleet/*', 'src/host/**', 'src/notifications/*',
      'src/output/*', 'src/policy/**', 'src/schedule/*', 'simulator/*', service, api, base],
    why: 'The command line joins all parts.' },
  { folder: 'src/cli/ui/page', imports: ['src/cli/ui/page-data.ts', 'src/cli/render/*', api, base],
    why: 'The page of logfleet ui runs in a browser, so it imports only code that needs neither Node nor a server.' },
  { folder: 'src', imports: ['src/cli/**'],
    why: 'The program starts the command line.' },
  { folder: 'simulator', imports: [base],
    order: ['base', 'query', 'log-data', 'log-data/made-up log-data/shipped log-data/stored', 'scenario', 'collectors', 'requests', 'search upgrades', '.'],
    why: 'The simulator shares only src/base with logfleet, so that an error of the client is not also in the simulator.' },
];

/** Files at which a program begins. They must import all other files, directly or indirectly. */
const entryPoints = ['src/main.ts', 'src/cli/ui/page/app.tsx', 'simulator/main.ts', 'simulator/in-process.ts'];

// biome-ignore format: one row, one module
const moduleRows: readonly ModuleRow[] = [
  // Node modules for the clock, the network, the disk and the machine, with the only files that may import them. All
  // other code uses interfaces, which tests can replace.
  { modules: 'node:perf_hooks', users: ['src/base/clock.ts'],
    why: 'Time is a port: take a Clock (src/base/clock.ts).' },
  { modules: 'node:fs node:fs/promises',
    users: ['src/base/folders-above.ts', 'src/base/process-identity.ts', 'src/cli/**', 'src/destination/volume/*', 'src/host/directory/*', 'simulator/*'],
    why: 'The disk is a port: take a Host (src/host/host.ts) or a store (src/destination/store).' },
  { modules: 'node:http node:https', users: ['src/cli/**', 'src/destination/store/*', 'src/host/kubernetes/*', 'simulator/*'],
    why: 'The network is a port: service transport, Kubernetes transport.' },
  { modules: 'node:net', users: ['src/base/proxy-environment.ts', 'src/cli/**', 'src/service/transport/*', 'simulator/*'],
    why: 'The network is a port: service transport, Kubernetes transport.' },
  { modules: 'node:tls', users: ['src/service/transport/*'],
    why: 'The network is a port: service transport, Kubernetes transport.' },
  { modules: 'undici', users: ['src/destination/gcs/*', 'src/host/kubernetes/*', 'src/notifications/*', 'src/service/transport/*'],
    why: 'The network is a port: service transport, Kubernetes transport.' },
  { modules: 'node:os', users: ['src/base/process-identity.ts', 'src/cli/**', 'src/host/**', 'simulator/*'],
    why: 'Only these parts depend on the machine.' },
  { modules: 'node:v8', users: ['src/base/heap.ts'],
    why: 'The settings of the heap are in one file.' },
  { modules: 'node:module', users: ['src/main.ts'],
    why: 'Only the start of the program changes how modules are loaded.' },

  // Modules of Node that only compute.
  { modules: 'node:buffer', users: ['src/output/*', 'simulator/**'], why: 'Rows become bytes here.' },
  { modules: 'node:crypto',
    users: ['src/account/*', 'src/cli/**', 'src/controller/*', 'src/destination/**', 'src/export/**', 'src/host/**', 'src/notifications/*', 'src/output/*', 'src/policy/**', 'simulator/*'],
    why: 'Hashes and certificates. Biome forbids its random numbers: take a Random (src/base/random.ts).' },
  { modules: 'node:diagnostics_channel node:querystring', users: ['src/base/*'], why: 'General code.' },
  { modules: 'node:events', users: ['src/cli/**', 'src/service/transport/*', 'simulator/*'], why: 'Servers and connections.' },
  { modules: 'node:path', users: ['src/base/*', 'src/cli/**', 'src/destination/volume/*', 'src/host/**', 'simulator/*'],
    why: 'Only files of the disk have paths that depend on the operating system.' },
  { modules: 'node:stream node:stream/consumers node:stream/promises',
    users: ['src/cli/**', 'src/destination/**', 'src/output/*', 'src/service/transport/*'], why: 'Files and connections.' },
  { modules: 'node:string_decoder', users: ['src/host/**'], why: 'Text that arrives in parts.' },
  { modules: 'node:url', users: ['src/cli/**', 'src/destination/volume/*', 'src/export/**'], why: 'Paths as addresses.' },
  { modules: 'node:util', users: ['src/api/*', 'src/base/*', 'src/cli/render/*', 'src/export/**', 'src/output/compression.ts'],
    why: 'Comparison, text form and colours of values, and promises of callbacks.' },
  { modules: 'node:zlib', users: ['src/destination/**', 'src/output/*'], why: 'Only data files are compressed.' },

  // npm packages. Each package may be imported only in a few folders, so that it can be replaced without changes
  // elsewhere.
  { modules: '@aws-sdk/client-s3', users: ['src/destination/s3/*'], why: 'Only one folder depends on this store.' },
  { modules: '@azure/identity @azure/storage-blob', users: ['src/destination/azure/*'], why: 'Only one folder depends on this store.' },
  { modules: 'google-auth-library', users: ['src/destination/gcs/*'], why: 'Only one folder depends on this store.' },
  { modules: 'hyparquet', users: ['src/destination/*'], why: 'Data files are read when they are verified.' },
  { modules: 'hyparquet-writer', users: ['src/output/*'], why: 'Data files are written here.' },
  { modules: '@kubernetes/client-node/dist/config.js', users: ['src/host/kubernetes/*'], why: 'The whole package needs 60 MiB of memory.' },
  { modules: '@marcbachmann/cel-js', users: ['src/api/*'], why: 'Only validation evaluates CEL.' },
  { modules: 'ajv', users: ['src/api/*', 'simulator/*'], why: 'Manifests and scenarios have schemas.' },
  { modules: 'yaml', users: ['src/api/*', 'src/cli/**', 'simulator/*'], why: 'Manifests and scenarios are YAML.' },
  { modules: 'commander', users: ['src/base/flag-values.ts', 'src/cli/**', 'simulator/*'], why: 'Only command lines have flags.' },
  { modules: 'croner pino prom-client', users: ['src/base/*'], why: 'src/base has the interface of cron, log and metrics.' },
  { modules: 'slice-ansi string-width', users: ['src/cli/render/*'], why: 'Only terminals have columns.' },
  { modules: 'tough-cookie', users: ['src/service/requests/*'], why: 'Only requests to the service have cookies.' },
  { modules: 'esbuild', users: ['src/cli/ui/*'], why: 'In a checkout, esbuild bundles the page of logfleet ui.' },
  { modules: 'preact', users: ['src/cli/ui/page/*'], why: 'Only the page of logfleet ui is drawn in a browser.' },
  { modules: 're2js', users: ['simulator/query/*'], why: 'The query language has the regular expressions of RE2.' },
  { modules: 'selfsigned', users: ['simulator/*'], why: 'Only the simulator makes certificates.' },
];

/** Source files to which the rules apply. The tests of the simulator may import everything. */
const sources = { path: '^(?:src|simulator)/', pathNot: ['^simulator/test/'] };

const localFile = { dependencyTypes: ['local' as const] };
const otherModule = { dependencyTypesNot: ['local' as const] };

/** Returns a regular expression for paths that match at least one of the patterns, such as `src/base/*`. */
function matching(patterns: readonly string[]): string {
  const parts = patterns.map((pattern) =>
    pattern
      .replaceAll('.', '\\.')
      .replace(/\/\*\*$/, '/.+')
      .replace(/\/\*$/, '/[^/]+'),
  );
  return `^(?:${parts.join('|')})$`;
}

/**
 * Returns a regular expression for the paths to which dependency-cruiser resolves the modules, such as `fs/promises`
 * and `node_modules/undici/index.js`.
 */
function resolvedTo(modules: readonly string[]): string {
  const parts = modules.map((name) =>
    name.startsWith('node:') ? `${name.slice('node:'.length)}$` : `node_modules/${name.replaceAll('.', '\\.')}(?:/|$)`,
  );
  return `^(?:${parts.join('|')})`;
}

function rulesOfFolder({ folder, order = ['.'], imports, why }: FolderRow): readonly IForbiddenRuleType[] {
  const filesOf = (subfolder: string) => (subfolder === '.' ? `${folder}/*` : `${folder}/${subfolder}/*`);
  const steps = order.map((step) => step.split(' ').map(filesOf));
  return steps.flatMap((step, index) =>
    step.map((files) => ({
      name: files.replace(/\/\*$/, ''),
      comment: `This folder must not import that file. ${why}`,
      severity: 'error' as const,
      from: { path: matching([files]) },
      to: { ...localFile, pathNot: matching([files, ...steps.slice(0, index).flat(), ...imports]) },
    })),
  );
}

const folderRules = folderRows.flatMap(rulesOfFolder);

function ruleOfModules({ modules, users, why }: ModuleRow): IForbiddenRuleType {
  return {
    name: modules.replaceAll(' ', ', '),
    comment: `This file must not import that module. ${why}`,
    severity: 'error',
    from: { ...sources, pathNot: [...sources.pathNot, matching(users)] },
    to: { path: resolvedTo(modules.split(' ')) },
  };
}

const otherRules: readonly IForbiddenRuleType[] = [
  {
    name: 'folder without a row',
    comment: 'Add the folder to folderRows in .dependency-cruiser.ts.',
    severity: 'error',
    from: { ...sources, pathNot: [...sources.pathNot, ...folderRules.map((rule) => String(rule.from.path))] },
    to: {},
  },
  {
    name: 'module without a row',
    comment: 'Add the package, or the module of Node, to moduleRows in .dependency-cruiser.ts.',
    severity: 'error',
    from: sources,
    to: { ...otherModule, pathNot: resolvedTo(moduleRows.flatMap(({ modules }) => modules.split(' '))) },
  },
  {
    name: 'page',
    comment: 'The page of logfleet ui runs in a browser: of all packages and modules of Node, it imports only preact.',
    severity: 'error',
    from: { path: matching(['src/cli/ui/page/*']) },
    to: { ...otherModule, pathNot: resolvedTo(['preact']) },
  },
  {
    name: 'start of the simulator',
    comment: 'Only src/cli/commands.ts starts the simulator.',
    severity: 'error',
    from: { path: '^src/', pathNot: matching(['src/cli/commands.ts']) },
    to: { path: '^simulator/' },
  },
  {
    name: 'circular import',
    comment: 'Move what the files share to another file.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'unused file',
    comment:
      'No program imports this file, directly or indirectly. Delete it, or add it to entryPoints in .dependency-cruiser.ts.',
    severity: 'error',
    from: { path: matching(entryPoints) },
    to: { ...sources, pathNot: [...sources.pathNot, matching(entryPoints)], reachable: false },
  },
];

const configuration: IConfiguration = {
  forbidden: [...folderRules, ...moduleRows.map(ruleOfModules), ...otherRules],
  options: {
    // The parser is swc, because dependency-cruiser does not support TypeScript 7.
    parser: 'swc',
    // swc cannot parse `using` declarations, so files in test/, which contain them, are not read.
    doNotFollow: { path: '^(?:node_modules|test)/' },
    // Does not resolve symbolic links, so that package paths begin with `node_modules`, as the rules expect, even if
    // `node_modules` is a link.
    preserveSymlinks: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};

export default configuration;
