import Glibc
import UsherConfig
import UsherCore
import UsherSystem

/// Locates and reads the configuration files.
enum ConfigFiles {
  /// The maximum size of a configuration file in bytes, far above any real one.
  private static let sizeLimit = 1 << 20

  /// Reads and checks the configuration.
  ///
  /// - Parameter file: The main file; nil for the default path, at which the file may be missing.
  /// - Throws: The problem of the first file that cannot be read, or that users other than root
  ///   (or, for a user's own daemon, that user) may write; otherwise all problems in all files.
  static func load(_ file: String?, environment: [String: String]) throws(ConfigError) -> Config {
    let main = file ?? usualPlace(environment)
    let trust = trust(environment)
    var contents: [(path: String, bytes: [UInt8])] = []
    if let bytes = try read(main, trust) {
      contents.append((main, bytes))
    } else if file != nil {
      throw problem(main, "the file does not exist")
    }
    for path in try overlays(beside: main, trust) {
      guard let bytes = try read(path, trust) else {
        throw problem(
          path,
          "cannot be opened, although its directory lists it: it is a broken link, or its name "
            + "is not UTF-8")
      }
      contents.append((path, bytes))
    }
    return try Config.load(contents: contents)
  }

  /// Returns whether systemd's system manager started this process, not a person or a user manager.
  ///
  /// See systemd.exec(5): the user manager sets `$MANAGERPID`. `$XDG_RUNTIME_DIR` is set in
  /// sessions and user services; it is checked because a login on a console may inherit
  /// `$INVOCATION_ID` from getty's service.
  private static func isSystemService(_ environment: [String: String]) -> Bool {
    guard environment["MANAGERPID"] == nil, environment["XDG_RUNTIME_DIR"] == nil else {
      return false
    }
    return environment["STATE_DIRECTORY"] != nil || environment["INVOCATION_ID"] != nil
  }

  /// Returns which owners of configuration files are trusted. The files of the system's daemon must
  /// not be writable by the daemon itself; those of a user's own daemon may be.
  private static func trust(_ environment: [String: String]) -> FileTrust {
    FileTrust(user: getuid() == 0 || isSystemService(environment) ? nil : getuid())
  }

  /// Returns the main file that ``load(_:environment:)`` read; nil if it does not exist. A later
  /// reload requires the file to exist.
  static func found(_ file: String?, environment: [String: String]) -> String? {
    let main = file ?? usualPlace(environment)
    return access(main, F_OK) == 0 ? main : nil
  }

  private static func usualPlace(_ environment: [String: String]) -> String {
    // The home directory of the system's daemon is its state directory, to which the daemon may
    // write, so no configuration is read from there.
    if getuid() == 0 || isSystemService(environment) || environment["HOME"] == nil {
      return "/etc/usherd/usherd.toml"
    }
    let home = environment["XDG_CONFIG_HOME"] ?? environment["HOME"].map { "\($0)/.config" } ?? ""
    let own = "\(home)/usherd/usherd.toml"
    return access(own, F_OK) == 0 ? own : "/etc/usherd/usherd.toml"
  }

  /// Returns the paths of `conf.d/*.toml` beside the main file, sorted by name.
  ///
  /// - Throws: If the directory cannot be read, or other users could create or replace such a file.
  private static func overlays(
    beside main: String, _ trust: FileTrust
  ) throws(ConfigError) -> [String] {
    let parent = main.parentDirectory
    let folder = "\(parent)/conf.d"
    var status = stat()
    if stat(parent, &status) == 0 { try check(status, at: parent, trust, isShared: true) }
    guard let directory = opendir(folder) else {
      if errno == ENOENT { return [] }
      throw problem(folder, "cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { closedir(directory) }
    guard fstat(dirfd(directory), &status) == 0 else {
      throw problem(folder, "cannot be read: \(String(cString: strerror(errno)))")
    }
    try check(status, at: folder, trust)
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted().map { "\(folder)/\($0)" }
  }

  /// Reads a configuration file; returns nil if it does not exist. Never blocks.
  private static func read(_ path: String, _ trust: FileTrust) throws(ConfigError) -> [UInt8]? {
    let bytes: [UInt8]
    let status: stat
    do throws(Errno) {
      let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
      status = try file.status()
      // Only a regular file is read, because reading a FIFO or a device could block.
      bytes = status.st_mode & S_IFMT == S_IFREG ? try file.read(atMost: sizeLimit + 1) : []
    } catch {
      if error.code == ENOENT { return nil }
      throw problem(path, "cannot be read: \(error.words)")
    }
    guard status.st_mode & S_IFMT == S_IFREG else { throw problem(path, "is not a regular file") }
    try check(status, at: path, trust)
    guard bytes.count <= sizeLimit else { throw problem(path, "is larger than 1 MiB") }
    return bytes
  }

  private static func check(
    _ status: stat, at path: String, _ trust: FileTrust, isShared: Bool = false
  ) throws(ConfigError) {
    let status = FileTrust.Status(
      owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777)
    if let problem = trust.problem(with: status, at: path, isShared: isShared) {
      throw self.problem(path, problem)
    }
  }

  private static func problem(_ path: String, _ message: String) -> ConfigError {
    ConfigError([ConfigProblem(file: path, line: 0, column: 0, key: "", message: message)])
  }
}
