import FoundationEssentials
import Glibc
import Testing
import UsherCore
import UsherSystem
import UsherTestKit

/// A temporary directory that is removed with this object.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/usher-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  @discardableResult
  func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) throws -> String {
    let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    try #require(fchmod(descriptor, mode) == 0)
    return file(name)
  }
}

func mode(of path: String) -> mode_t? {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func exists(_ path: String) -> Bool { mode(of: path) != nil }

/// Returns the message of the `UsherError` that `body` throws; nil if it throws nothing.
func refusal(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return (error as? UsherError)?.message ?? "\(error)"
  }
}

func accepted(_ listener: CInt) throws -> CInt {
  try #require(TestDeadline().isReadable(listener), "no client connected in time")
  let descriptor = accept(listener, nil, nil)
  try #require(descriptor >= 0)
  return descriptor
}

func connected(to path: String) -> CInt? {
  guard let descriptor = unixSocket(SOCK_STREAM) else { return nil }
  let address = TestSocket.Address.unix(path: path)
  if address.withRaw({ connect(descriptor, $0, $1) }) == 0 { return descriptor }
  close(descriptor)
  return nil
}

/// Returns a socket bound to `path`; a stream socket also listens.
func boundSocket(_ path: String, type: __socket_type = SOCK_STREAM) throws -> CInt {
  let descriptor = try #require(unixSocket(type))
  let address = TestSocket.Address.unix(path: path)
  try #require(address.withRaw { bind(descriptor, $0, $1) } == 0)
  if type == SOCK_STREAM { try #require(listen(descriptor, 16) == 0) }
  return descriptor
}

func unixSocket(_ type: __socket_type) -> CInt? {
  let descriptor = socket(AF_UNIX, CInt(type.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
  return descriptor >= 0 ? descriptor : nil
}

func received(_ descriptor: CInt) throws -> String {
  try #require(TestDeadline().isReadable(descriptor), "no bytes arrived in time")
  var buffer = [UInt8](repeating: 0, count: 4096)
  let count = recv(descriptor, &buffer, buffer.count, 0)
  try #require(count >= 0)
  return String(decoding: buffer.prefix(count), as: UTF8.self)
}

/// A socket that every user may connect to, in a directory of its own.
final class PublicListener: Sendable {
  let directory: TemporaryDirectory
  let path: String
  let descriptor: CInt

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("s")
    try #require(chmod(directory.path, 0o755) == 0)
    descriptor = try UnixListener.bind(path: path, mode: 0o666)
  }

  deinit { close(descriptor) }
}

/// A child process, which is killed and reaped with this object at the latest.
final class Child {
  let pid: pid_t
  private var isReaped = false

  /// - Parameter command: An absolute path and arguments.
  init(_ command: [String]) throws {
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var pid: pid_t = 0
    let result = posix_spawn(&pid, command[0], nil, nil, &arguments, environ)
    try #require(result == 0, "\(command[0]) cannot be started")
    self.pid = pid
  }

  deinit { end() }

  func end() {
    guard !isReaped else { return }
    isReaped = true
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
  }
}

/// Commands that connect with Debian's perl and hold the connection until they receive a byte.
enum Caller {
  static func unix(_ path: String) -> [String] {
    let program = """
      use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
      connect($s, sockaddr_un($ARGV[0])) or die; sysread($s, my $b, 1);
      """
    return ["/usr/bin/perl", "-e", program, path]
  }

  static func tcp(port: UInt16) -> [String] {
    let program = """
      use Socket; socket(my $s, AF_INET, SOCK_STREAM, 0) or die;
      connect($s, sockaddr_in($ARGV[0], INADDR_LOOPBACK)) or die; sysread($s, my $b, 1);
      """
    return ["/usr/bin/perl", "-e", program, "\(port)"]
  }

  /// Returns the command that runs `command` as another user. Only root may run it.
  static func other(uid: uid_t, groups: [gid_t] = [], _ command: [String]) -> [String] {
    let list = groups.map(String.init).joined(separator: ",")
    let supplementary = groups.isEmpty ? ["--clear-groups"] : ["--groups=\(list)"]
    return ["/usr/bin/setpriv", "--reuid=\(uid)", "--regid=\(uid)"] + supplementary + command
  }
}

/// Whether this process may run programs as other users.
let isRoot = geteuid() == 0
let needsRoot: Comment = "SKIPPED, NOT PROVEN: only root can call as another user"
