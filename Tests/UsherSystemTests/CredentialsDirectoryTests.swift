import Glibc
import Testing
import UsherCore

@testable import UsherSystem

@Suite("Credentials passed by systemd")
struct CredentialsDirectoryTests {
  private let directory: TemporaryDirectory
  private let credentials: CredentialsDirectory

  init() throws {
    directory = try TemporaryDirectory()
    credentials = CredentialsDirectory(path: directory.path)
  }

  @Test("a text credential loses one trailing newline, may be empty, and is nil without a file")
  func text() throws {
    #expect(try credentials.secret(named: "a") == nil)
    try directory.write([], to: "a")
    #expect(try credentials.secret(named: "a")?.isEmpty == true)
    try directory.write(Array("hunter2\n\n".utf8), to: "a")
    #expect(try credentials.secret(named: "a")?.revealed() == "hunter2\n")
    #expect(try credentials.bytes(named: "a") == Array("hunter2\n\n".utf8))
  }

  @Test(
    "a credential name that is not a plain file name is refused",
    arguments: ["", ".", "..", "../x", "a/b", "a\0b", "a\nb", String(repeating: "x", count: 256)])
  func badName(name: String) {
    #expect(
      refusal { _ = try credentials.bytes(named: name) }
        == "a credential's name must be a plain file name")
  }

  @Test("a credential of 1 MiB is read, and one byte more is refused")
  func size() throws {
    try directory.write([UInt8](repeating: 7, count: 1 << 20), to: "most")
    try directory.write([UInt8](repeating: 7, count: (1 << 20) + 1), to: "more")
    #expect(try credentials.bytes(named: "most")?.count == 1 << 20)
    #expect(
      refusal { _ = try credentials.bytes(named: "more") }
        == "the credential more is longer than 1 MiB")
  }

  @Test("a credential that is a symbolic link, a directory or a pipe is refused without blocking")
  func notFiles() throws {
    try directory.write([1], to: "real")
    try #require(symlink("real", directory.file("link")) == 0)
    try #require(mkdir(directory.file("dir"), 0o700) == 0)
    try #require(mkfifo(directory.file("pipe"), 0o600) == 0)
    #expect(
      refusal { _ = try credentials.bytes(named: "link") }
        == "the credential link is a symbolic link")
    #expect(
      refusal { _ = try credentials.bytes(named: "dir") } == "the credential dir is not a file")
    #expect(
      refusal { _ = try credentials.bytes(named: "pipe") } == "the credential pipe is not a file")
  }

  @Test("a credential that is not UTF-8 is refused as text and readable as bytes")
  func binary() throws {
    try directory.write([0xff, 0xfe], to: "a")
    #expect(
      refusal { _ = try credentials.secret(named: "a") }
        == "the credential a is not text in UTF-8")
    #expect(try credentials.bytes(named: "a") == [0xff, 0xfe])
  }

  @Test("the credential names are listed sorted, without hidden files")
  func names() throws {
    for name in ["b", "a", ".hidden"] { try directory.write([], to: name) }
    #expect(try credentials.names() == ["a", "b"])
  }

  @Test("CREDENTIALS_DIRECTORY is used only if it is an absolute path")
  func environment() {
    #expect(CredentialsDirectory(environment: [:])?.path == nil)
    #expect(
      CredentialsDirectory(environment: ["CREDENTIALS_DIRECTORY": "relative"])?.path == nil)
    #expect(CredentialsDirectory(environment: ["CREDENTIALS_DIRECTORY": "/c"])?.path == "/c")
  }
}
