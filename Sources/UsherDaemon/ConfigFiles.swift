import Glibc
import UsherConfig
import UsherCore

/// Finds and reads the configuration's files.
enum ConfigFiles {
  /// Far above any real configuration.
  private static let sizeLimit = 1 << 20

  /// - Parameter file: Nil for the place where it usually is; there it may be missing.
  static func load(_ file: String?, environment: [String: String]) throws -> Config {
    let main = file ?? usualPlace(environment)
    var contents: [(path: String, bytes: [UInt8])] = []
    if let bytes = try read(main) {
      contents.append((main, bytes))
    } else if file != nil {
      throw UsherError(.notFound, "there is no configuration file \(main)")
    }
    for path in overlays(beside: main) {
      if let bytes = try read(path) { contents.append((path, bytes)) }
    }
    return try Config.load(contents: contents)
  }

  private static func usualPlace(_ environment: [String: String]) -> String {
    if getuid() == 0 || environment["HOME"] == nil { return "/etc/usherd/usherd.toml" }
    let home = environment["XDG_CONFIG_HOME"] ?? environment["HOME"].map { "\($0)/.config" } ?? ""
    let own = "\(home)/usherd/usherd.toml"
    return access(own, F_OK) == 0 ? own : "/etc/usherd/usherd.toml"
  }

  /// `conf.d/*.toml` beside the main file, in the order of their names.
  private static func overlays(beside main: String) -> [String] {
    let parent = main.lastIndex(of: "/").map { String(main[..<$0]) } ?? "."
    guard let directory = opendir("\(parent)/conf.d") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted().map { "\(parent)/conf.d/\($0)" }
  }

  /// Nil where there is no such file.
  private static func read(_ path: String) throws -> [UInt8]? {
    guard let file = fopen(path, "rbe") else {
      if errno == ENOENT { return nil }
      throw UsherError(
        .internalError,
        "the configuration file \(path) cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: sizeLimit + 1)
    let count = fread(&bytes, 1, bytes.count, file)
    guard ferror(file) == 0, count <= sizeLimit else {
      throw UsherError(
        .internalError, "the configuration file \(path) cannot be read or is larger than 1 MiB")
    }
    return Array(bytes.prefix(count))
  }
}

/// The process's environment.
enum Environment {
  static func all() -> [String: String] {
    var variables: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
      let parts = String(cString: entry).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      next += 1
    }
    return variables
  }
}
