import FoundationEssentials

/// Returns the content of a file in `Fixtures`, with which a test compares the present value.
///
/// - Parameter current: Returns the present value in the form of the file. With
///   `USHER_UPDATE_GOLDEN=1` in the environment it is written to the file first, and the file's
///   diff shows the change.
func goldenFile(_ name: String, _ current: () throws -> Data) throws -> Data {
  let folder = URL(filePath: #filePath).deletingLastPathComponent()
  let file = folder.appending(path: "Fixtures/\(name)")
  if ProcessInfo.processInfo.environment["USHER_UPDATE_GOLDEN"] == "1" {
    try current().write(to: file)
  }
  return try Data(contentsOf: file)
}
