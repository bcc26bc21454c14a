/**
 * `make tools`: installs the programs that the tests need: etcd, kube-apiserver, kubectl, Helm, promtool, Chromium, and
 * emulators of object stores. Each program comes from one of the following: a path in an environment variable; the
 * cache outside the checkout; a release archive; a Go build.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { azuriteScript } from '../tools/installer/azurite.ts';
import { cached } from '../tools/installer/cache.ts';
import { chromiumProgram } from '../tools/installer/chromium.ts';
import { downloadArchive, goPlatform } from '../tools/installer/envtest-archive.ts';
import { fakeGcsServerProgram } from '../tools/installer/fake-gcs-server.ts';
import { buildPrograms, type GoProgram, hasGo } from '../tools/installer/go-build.ts';
import { helmProgram } from '../tools/installer/helm.ts';
import { say } from '../tools/installer/progress.ts';
import { promtoolProgram } from '../tools/installer/promtool.ts';
import { s3GatewayProgram } from '../tools/installer/s3-gateway.ts';
import { modulesDirectory, requiredVersion } from '../tools/installer/versions.ts';

/** Absolute paths of etcd, kube-apiserver and kubectl. */
export interface ControlPlaneTools {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubectl: string;
}

const names = ['etcd', 'kube-apiserver', 'kubectl'] as const;

/** Installs missing programs, and reports progress on stderr. Error messages say what to do. */
export async function controlPlaneTools(): Promise<ControlPlaneTools> {
  const directory = assetsDirectory() ?? (await install(requiredVersion('k8s.io/kubernetes')));
  const [etcd, kubeApiserver, kubectl] = names.map((name) => join(directory, name)) as [string, string, string];
  return { etcd, kubeApiserver, kubectl };
}

function assetsDirectory(): string | undefined {
  const directory = process.env['KUBEBUILDER_ASSETS'];
  if (!directory) return undefined;
  const missing = names.filter((name) => !existsSync(join(directory, name)));
  if (missing.length === 0) return directory;
  throw new Error(
    `KUBEBUILDER_ASSETS names ${directory}, where ${missing.join(' and ')} cannot be found. ` +
      'Set it to a folder that contains etcd, kube-apiserver and kubectl, or unset it to install them.',
  );
}

function install(version: string): Promise<string> {
  return cached('control-plane', `${version}-${goPlatform()}`, async (directory) => {
    try {
      await downloadArchive(version, names, directory);
      return;
    } catch (error) {
      const reason = (error as Error).message;
      if (!hasGo()) throw new Error(nowhereToBeHad(version, reason), { cause: error });
      say(
        `No prebuilt archive of Kubernetes ${version} is available (${reason}). Building it with Go takes about four minutes, only once on this machine.`,
      );
    }
    await buildPrograms(sources(version), directory);
    writeFileSync(join(directory, 'VERSION'), `${version}\n`);
  });
}

function nowhereToBeHad(version: string, reason: string): string {
  return (
    `The tests against a real API server need etcd, kube-apiserver and kubectl (Kubernetes ${version}), which cannot be installed: ` +
    `the release archive cannot be downloaded (${reason}), and Go, which could build them, is missing. Give this machine access to ` +
    'github.com, install Go 1.26 or newer (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with the three ' +
    'programs. Then run this command again.'
  );
}

function sources(version: string): readonly GoProgram[] {
  // Version that the programs report. It is set because kubectl prints a warning about the default version, v0.0.0.
  const ldflags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
  const modules = modulesDirectory;
  return [
    { name: 'etcd', modules, package: 'go.etcd.io/etcd/server/v3', ldflags },
    { name: 'kube-apiserver', modules, package: 'k8s.io/kubernetes/cmd/kube-apiserver', ldflags },
    { name: 'kubectl', modules, package: 'k8s.io/kubernetes/cmd/kubectl', ldflags },
  ];
}

if (import.meta.main) {
  try {
    for (const path of Object.values(await controlPlaneTools())) console.log(path);
    console.log(await helmProgram());
    console.log(await s3GatewayProgram());
    console.log(await fakeGcsServerProgram());
    console.log(await promtoolProgram());
    console.log(await azuriteScript());
    console.log(await chromiumProgram());
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
