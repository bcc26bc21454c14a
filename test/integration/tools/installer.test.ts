/** Tests how `make tools` installs the programs needed by the cluster and store tests. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { azuriteVersion } from '../../../tools/installer/azurite.ts';
import { cached } from '../../../tools/installer/cache.ts';
import { chooseArchive, downloadArchive, goPlatform } from '../../../tools/installer/envtest-archive.ts';
import { fakeGcsServer } from '../../../tools/installer/fake-gcs-server.ts';
import { helm } from '../../../tools/installer/helm.ts';
import { promtool } from '../../../tools/installer/promtool.ts';
import { downloadProgram, releaseArchive } from '../../../tools/installer/released-program.ts';
import { s3Gateway } from '../../../tools/installer/s3-gateway.ts';
import { requiredVersion } from '../../../tools/installer/versions.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-installer-'));
  vi.stubEnv('XDG_CACHE_HOME', directory);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

describe('the versions', () => {
  test('equal those of tools/go.mod', () => {
    expect(requiredVersion('k8s.io/kubernetes')).toMatch(/^v1\.\d+\.\d+$/);
    expect(() => requiredVersion('k8s.io/no-such-module')).toThrow(
      'does not require a version of k8s.io/no-such-module',
    );
    for (const { module, modulesDirectory } of [helm, s3Gateway, fakeGcsServer, promtool]) {
      expect(requiredVersion(module, modulesDirectory)).toMatch(/^v\d\.\d+\.\d+$/);
    }
    expect(azuriteVersion()).toMatch(/^3\.\d+\.\d+$/);
  });
});

describe('the cache', () => {
  const parent = () => join(directory, 'logfleet/programs');
  const fill = (text: string) => async (folder: string) => writeFileSync(join(folder, 'program'), text);

  test('installs into a folder once, and leaves no other file', async () => {
    const first = await cached('programs', 'v1', fill('first'));
    expect(await cached('programs', 'v1', fill('second'))).toBe(first);
    expect(readFileSync(join(first, 'program'), 'utf8')).toBe('first');
    expect(readdirSync(parent())).toEqual(['v1']);
  });

  test('keeps no files after a failed installation', async () => {
    const failing = async (folder: string) => {
      writeFileSync(join(folder, 'half'), '');
      throw new Error('no network');
    };
    await expect(cached('programs', 'v1', failing)).rejects.toThrow('no network');
    expect(readdirSync(parent())).toEqual([]);
    await cached('programs', 'v1', fill('whole'));
    expect(readdirSync(join(parent(), 'v1'))).toEqual(['program']);
  });

  test('takes over from a process that died during an installation', async () => {
    const dead = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(dead, 'exit');
    mkdirSync(join(parent(), 'v1.partial-abc'), { recursive: true });
    writeFileSync(join(parent(), 'v1.lock'), String(dead.pid));
    await cached('programs', 'v1', fill('whole'));
    expect(readdirSync(parent())).toEqual(['v1']);
  });

  test('installs once for two concurrent calls', async () => {
    let fillings = 0;
    const counted = async (folder: string) => {
      fillings++;
      await fill('one')(folder);
    };
    await Promise.all([cached('programs', 'v1', counted), cached('programs', 'v1', counted)]);
    expect(fillings).toBe(1);
  });
});

describe('the choice of an archive', () => {
  const file = (version: string) => ({
    [`envtest-${version}-linux-amd64.tar.gz`]: { hash: 'aa', selfLink: `https://example.com/${version}` },
  });
  const releases = { ...at('v1.36.0'), ...at('v1.36.10'), ...at('v1.36.9'), ...at('v1.37.0'), ...at('v1.36.11-rc.0') };

  function at(version: string) {
    return { [version]: file(version) };
  }

  test.each([
    ['v1.36.9', 'v1.36.9'],
    ['v1.36.3', 'v1.36.10'],
    ['v1.38.0', undefined],
  ])('for %s is %s', (wanted, chosen) => {
    expect(chooseArchive({ releases }, wanted, 'linux-amd64')?.version).toBe(chosen);
  });

  test('fails on any other platform', () => {
    expect(chooseArchive({ releases }, 'v1.36.9', 'darwin-arm64')).toBeUndefined();
  });
});

describe('the download', () => {
  let server: Server;
  let hash: string;
  let archive: Buffer;

  beforeEach(async () => {
    const content = join(directory, 'content/controller-tools/envtest');
    mkdirSync(content, { recursive: true });
    for (const name of ['etcd', 'kubectl']) writeFileSync(join(content, name), `program ${name}`);
    execFileSync('tar', ['-czf', join(directory, 'a.tar.gz'), '-C', join(directory, 'content'), 'controller-tools']);
    archive = readFileSync(join(directory, 'a.tar.gz'));
    hash = createHash('sha512').update(archive).digest('hex');
    server = createServer((request, response) => {
      const selfLink = `${address()}/archive`;
      const index = { releases: { 'v1.36.3': { [`envtest-v1.36.3-${goPlatform()}.tar.gz`]: { hash, selfLink } } } };
      response.end(request.url === '/archive' ? archive : JSON.stringify(index));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => server.close());

  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = () => {
    const folder = join(directory, 'target');
    mkdirSync(folder, { recursive: true });
    return folder;
  };

  test('unpacks the programs, and records their version', async () => {
    await downloadArchive('v1.36.3', ['etcd', 'kubectl'], target(), address());
    expect(readdirSync(target()).sort()).toEqual(['VERSION', 'etcd', 'kubectl']);
    expect(readFileSync(join(target(), 'etcd'), 'utf8')).toBe('program etcd');
  });

  test('refuses an archive with a wrong checksum', async () => {
    hash = hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    await expect(downloadArchive('v1.36.3', ['etcd'], target(), address())).rejects.toThrow('the checksum of http');
    expect(readdirSync(target())).toEqual([]);
  });

  test('names a server that it could not reach', async () => {
    const download = downloadArchive('v1.36.3', ['etcd'], target(), 'http://127.0.0.1:2');
    await expect(download).rejects.toThrow(/^127\.0\.0\.1:2: /);
  });
});

describe.each([
  [helm, 'v4.3.1'],
  [s3Gateway, 'v1.8.0'],
  [fakeGcsServer, 'v1.56.1'],
  [promtool, 'v0.316.0'],
])('the download of the program $name', (program, version) => {
  let server: Server;
  const fileName = basename(releaseArchive(program, version).path);
  let checksums: string;

  beforeEach(async () => {
    const { path, checksumsPath, folder } = releaseArchive(program, version);
    mkdirSync(join(directory, 'content', folder), { recursive: true });
    writeFileSync(join(directory, 'content', folder, program.name), 'program');
    execFileSync('tar', ['-czf', join(directory, 'a.tar.gz'), '-C', join(directory, 'content'), folder]);
    const archive = readFileSync(join(directory, 'a.tar.gz'));
    checksums = `${createHash('sha256').update(archive).digest('hex')}  ${basename(path)}\n`;
    server = createServer(({ url }, response) => {
      if (url === `/${checksumsPath}`) response.end(checksums);
      else if (url === `/${path}`) response.end(archive);
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => server.close());

  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  test('unpacks the program', async () => {
    await downloadProgram(program, version, directory, address());
    expect(readFileSync(join(directory, program.name), 'utf8')).toBe('program');
  });

  test('refuses an archive with a wrong checksum', async () => {
    checksums = checksums.replace(/^../, 'zz');
    const download = downloadProgram(program, version, directory, address());
    await expect(download).rejects.toThrow(`the checksum of ${fileName} differs`);
    expect(readdirSync(directory)).not.toContain(program.name);
  });

  test('reports when there is no archive for this machine, or no such release', async () => {
    checksums = '';
    const download = (wanted: string) => downloadProgram(program, wanted, directory, address());
    await expect(download(version)).rejects.toThrow(`there is no archive ${fileName}`);
    await expect(download('v9.9.9')).rejects.toThrow('responded with status 404');
  });
});

test.each([
  ['v0.316.0', 'v3.16.0/prometheus-3.16.0.'],
  ['v0.305.2', 'v3.5.2/prometheus-3.5.2.'],
])('version %s of the module of promtool is in the archive %s', (version, start) => {
  expect(releaseArchive(promtool, version).path).toBe(`${start}${goPlatform()}.tar.gz`);
});

describe('make tools', () => {
  const tools = (env: NodeJS.ProcessEnv): Promise<{ status: number | null; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      const child = execFile(process.execPath, [join(root, 'scripts/tools.ts')], { env }, (_, stdout, stderr) => {
        resolve({ status: child.exitCode, stdout, stderr });
      });
    });

  const named = () => ({
    KUBEBUILDER_ASSETS: directory,
    LOGFLEET_HELM: join(directory, 'helm'),
    LOGFLEET_S3_GATEWAY: join(directory, 'versitygw'),
    LOGFLEET_FAKE_GCS_SERVER: join(directory, 'fake-gcs-server'),
    LOGFLEET_PROMTOOL: join(directory, 'promtool'),
    LOGFLEET_AZURITE: join(directory, 'main.js'),
    LOGFLEET_CHROMIUM: join(directory, 'chromium'),
  });
  const place = (names: readonly string[]) => {
    for (const name of names) writeFileSync(join(directory, name), '');
  };

  test('uses the programs that environment variables name', async () => {
    place([
      'etcd',
      'kube-apiserver',
      'kubectl',
      'helm',
      'versitygw',
      'fake-gcs-server',
      'promtool',
      'main.js',
      'chromium',
    ]);
    const { status, stdout } = await tools(named());
    expect(status).toBe(0);
    expect(stdout.trim().split('\n').map(dirname)).toEqual(Array(9).fill(directory));
  });

  test('reports that the given S3 gateway does not exist', async () => {
    place(['etcd', 'kube-apiserver', 'kubectl', 'helm']);
    const { status, stderr } = await tools(named());
    expect(status).toBe(1);
    expect(stderr).toContain(`LOGFLEET_S3_GATEWAY names ${directory}/versitygw, which cannot be found`);
  });

  test('reports that the given Azurite does not exist', async () => {
    place(['etcd', 'kube-apiserver', 'kubectl', 'helm', 'versitygw', 'fake-gcs-server', 'promtool']);
    const { status, stderr } = await tools(named());
    expect(status).toBe(1);
    expect(stderr).toContain(`LOGFLEET_AZURITE names ${directory}/main.js, which cannot be found`);
  });

  test('says what to do if npm cannot install Azurite', async () => {
    place(['etcd', 'kube-apiserver', 'kubectl', 'helm', 'versitygw', 'fake-gcs-server', 'promtool']);
    const { LOGFLEET_AZURITE: _, ...others } = named();
    const { status, stderr } = await tools({ ...others, XDG_CACHE_HOME: directory, PATH: join(directory, 'none') });
    expect(status).toBe(1);
    expect(stderr).toContain('or set LOGFLEET_AZURITE to the');
    expect(stderr).not.toContain('    at ');
  });

  test('says what to do if Chromium is missing and cannot be installed', async () => {
    place(['etcd', 'kube-apiserver', 'kubectl', 'helm', 'versitygw', 'fake-gcs-server', 'promtool', 'main.js']);
    const { LOGFLEET_CHROMIUM: _, ...others } = named();
    const { status, stderr } = await tools({ ...others, PATH: join(directory, 'none') });
    expect(status).toBe(1);
    expect(stderr).toContain('or set LOGFLEET_CHROMIUM to the path of a Chromium');
    expect(stderr).not.toContain('    at ');
  });

  test('says what to do if the S3 gateway can be neither downloaded nor built', async () => {
    place(['etcd', 'kube-apiserver', 'kubectl', 'helm']);
    const { status, stderr } = await tools({
      KUBEBUILDER_ASSETS: directory,
      LOGFLEET_HELM: join(directory, 'helm'),
      XDG_CACHE_HOME: directory,
      PATH: join(directory, 'no-programs'),
      HTTPS_PROXY: 'http://127.0.0.1:9',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('or set LOGFLEET_S3_GATEWAY to the path of a versitygw program');
    expect(stderr).not.toContain('    at ');
  });

  test('names the missing programs', async () => {
    writeFileSync(join(directory, 'etcd'), '');
    const { status, stderr } = await tools({ KUBEBUILDER_ASSETS: directory });
    expect(status).toBe(1);
    expect(stderr).toContain('kube-apiserver and kubectl cannot be found');
  });

  test('says what to do without a download and without Go', async () => {
    const { status, stderr } = await tools({
      XDG_CACHE_HOME: directory,
      PATH: join(directory, 'no-programs'),
      HTTPS_PROXY: 'http://127.0.0.1:9',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('Give this machine access to github.com, install Go');
    expect(stderr).not.toContain('    at ');
  });
});
