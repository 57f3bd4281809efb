/** Certificates of authorities that live as long as a test. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A key and its certificate, in PEM. */
export interface Identity {
  readonly key: Buffer;
  readonly certificate: Buffer;
}

/** An authority, and what it has signed. */
export interface Authority {
  readonly root: Buffer;
  /** For the name `pinch.test`, and no address. */
  readonly server: Identity;
  readonly client: Identity;
}

/** Makes an authority, a server's identity and a client's. */
export function authority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), "pinch-certificates-"));
  const openssl = (...words: string[]): void => {
    execFileSync("openssl", words, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  };
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  try {
    openssl("req", "-x509", ...key, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem");
    writeFileSync(join(folder, "names"), "subjectAltName=DNS:pinch.test");
    const signed = (name: string): Identity => {
      openssl("req", ...key, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
      const by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"];
      openssl("x509", "-req", "-in", `${name}.csr`, ...by, "-out", `${name}.pem`);
      return { key: read(`${name}.key`), certificate: read(`${name}.pem`) };
    };
    return { root: read("ca.pem"), server: signed("server"), client: signed("client") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
