import Glibc
import UsherConfig
import UsherCore

/// The main configuration file of a daemon, to which usherctl appends.
struct ConfigurationFile {
  /// The maximum size of the file in bytes; the daemon refuses a longer one.
  private static let sizeLimit = 1 << 20

  let path: String

  init(_ path: String) { self.path = path }

  /// Returns the present configuration: of this file and of those in `conf.d` beside it.
  func load() throws -> Config { try load(read()?.bytes ?? []) }

  private func load(_ bytes: [UInt8]) throws -> Config {
    let others = Files.list("\(path.parentDirectory)/conf.d", ending: ".toml")
    return try Config.load(
      contents: [(path: path, bytes: bytes)]
        + others.map { (path: $0, bytes: try Files.read($0)) })
  }

  /// Appends text, if the configuration is valid with it. Whenever usherctl is killed, the file has
  /// the old or the new content.
  ///
  /// - Throws: `ConfigError` with every problem of the new configuration; ``CommandFailure``, also
  ///   if another program has changed the file meanwhile. The file is then unchanged.
  func append(_ text: String) throws {
    let present = try read()
    var bytes = present?.bytes ?? []
    if let last = bytes.last {
      if last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
      bytes.append(UInt8(ascii: "\n"))
    }
    bytes += Array(text.utf8)
    guard bytes.count <= Self.sizeLimit else {
      throw CommandFailure("\(path) would be longer than \(Self.sizeLimit) bytes")
    }
    _ = try load(bytes)
    if present == nil { try makeFolder() }
    let draft = try Durable.draft(nextTo: path)
    do {
      try draft.write(bytes)
      try copyAccess(of: present?.status, to: draft)
      try draft.sync()
      if let present, try !present.file.isUnchanged(since: present.status) {
        throw CommandFailure("\(path) has changed meanwhile: run the command again")
      }
      try Durable.rename(draft.path, path)
    } catch {
      unlink(draft.path)
      throw error
    }
  }

  private func read() throws -> (file: OpenFile, status: stat, bytes: [UInt8])? {
    guard let (file, status) = try Durable.openFile(path) else { return nil }
    let bytes = try file.read(atMost: Self.sizeLimit + 1)
    guard bytes.count <= Self.sizeLimit else {
      throw CommandFailure("\(path) is longer than \(Self.sizeLimit) bytes")
    }
    return (file, status, bytes)
  }

  private func makeFolder() throws {
    let folder = path.parentDirectory
    guard !Files.exist(folder) else { return }
    let parent = folder.parentDirectory
    if !Files.exist(parent) { try Durable.makeDirectory(parent) }
    try Durable.makeDirectory(folder)
  }

  /// Gives the draft the owner and mode of the present file. A new file is readable by everybody if
  /// root writes it, because the daemon has another user; it has no secrets.
  private func copyAccess(of status: stat?, to draft: OpenFile) throws {
    let mode = status.map { $0.st_mode & 0o7777 } ?? (geteuid() == 0 ? 0o644 : 0o600)
    if let status, fchown(draft.descriptor, status.st_uid, status.st_gid) != 0 {
      throw Durable.systemFailure("the owner of \(path) cannot be kept")
    }
    guard fchmod(draft.descriptor, mode) == 0 else {
      throw Durable.systemFailure("the mode of \(path) cannot be kept")
    }
  }
}
