import FoundationEssentials

/// The few things usherctl asks of the file system.
enum Files {
  static func exist(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// - Throws: ``Failure`` naming the file.
  static func read(_ path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure("\(path) cannot be read")
    }
    return Array(data)
  }

  /// The files of a folder with this ending, by name; none where there is no such folder.
  static func list(_ folder: String, ending: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.sorted()
      .map { "\(folder)/\($0)" }
  }
}
