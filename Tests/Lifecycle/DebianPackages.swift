import Foundation
import UsherTestKit

/// The packages usherd and usherctl of the built programs, and the same packages of a later
/// version.
///
/// They are stored beside the programs, and rebuilt when any of their sources has changed.
struct DebianPackages: Sendable {
  enum Release: String, Sendable {
    case present
    case next
  }

  static let built = Result { try DebianPackages() }

  let directory: String
  /// The version of the present release.
  let version: String

  /// The version of the next release.
  var nextVersion: String { version + "+next" }

  /// Returns the paths of a release's packages inside a ``ServiceFixture``.
  func inside(_ release: Release) -> [String] {
    Self.names.map { "\(ServiceFixture.packages)/\(release.rawValue)/\($0).deb" }
  }

  private static let names = ["usherd", "usherctl"]
  /// The programs that the packages contain.
  private static let programNames = names + ["usher-helper"]
  private static let programs =
    (BuiltProduct.path("usherd") as NSString).deletingLastPathComponent
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../..").standardized.path

  private init() throws {
    directory = Self.programs + "/packages"
    if try !Self.isUpToDate(directory) { try Self.make(in: directory) }
    version = try Self.succeed(
      "/usr/bin/dpkg-deb", "--field", "\(directory)/present/usherd.deb", "Version"
    ).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func make(in directory: String) throws {
    let files = FileManager.default
    try? files.removeItem(atPath: directory)
    let place = try TemporaryDirectory()
    for folder in ["made", "programs"] {
      try files.createDirectory(atPath: place.file(folder), withIntermediateDirectories: false)
    }
    // Stripped programs take less memory inside the system, and less time to install.
    for name in programNames {
      try succeed(
        "/usr/bin/strip", "--output-file", place.file("programs/\(name)"), BuiltProduct.path(name))
    }
    try succeed(
      "\(root)/Packaging/build-deb", "--programs", place.file("programs"),
      "--output", place.file("made"))
    for release in ["present", "next"] {
      try files.createDirectory(
        atPath: place.file("packages/\(release)"), withIntermediateDirectories: true)
    }
    for name in names {
      let made = try files.contentsOfDirectory(atPath: place.file("made"))
        .filter { $0.hasPrefix("\(name)_") && $0.hasSuffix(".deb") }
      guard made.count == 1 else { throw TestError("build-deb made \(made) of \(name)") }
      let present = place.file("packages/present/\(name).deb")
      try files.moveItem(atPath: place.file("made/\(made[0])"), toPath: present)
      try makeNext(of: present, at: place.file("packages/next/\(name).deb"), place.file(name))
    }
    try files.copyItem(atPath: place.file("packages"), toPath: directory)
  }

  /// Creates the same package with a higher version.
  private static func makeNext(of package: String, at next: String, _ scratch: String) throws {
    try succeed("/usr/bin/dpkg-deb", "--raw-extract", package, scratch)
    let control = URL(fileURLWithPath: "\(scratch)/DEBIAN/control")
    let version = try succeed("/usr/bin/dpkg-deb", "--field", package, "Version")
      .trimmingCharacters(in: .whitespacesAndNewlines)
    // Also changes the version of the other package in a dependency.
    let text = try String(contentsOf: control, encoding: .utf8)
    let changed = text.replacing(version, with: version + "+next")
    guard changed != text else { throw TestError("\(package) has no version \(version)") }
    try Data(changed.utf8).write(to: control)
    try succeed("/usr/bin/dpkg-deb", "--root-owner-group", "-Znone", "--build", scratch, next)
  }

  private static func isUpToDate(_ directory: String) throws -> Bool {
    let files = FileManager.default
    guard let made = try? date("\(directory)/next/usherctl.deb") else { return false }
    let sources = ["Packaging", "Units"].flatMap { folder in
      (files.subpaths(atPath: "\(root)/\(folder)") ?? []).map { "\(root)/\(folder)/\($0)" }
    }
    return try (programNames.map(BuiltProduct.path) + sources).allSatisfy { try date($0) < made }
  }

  private static func date(_ path: String) throws -> Date {
    try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
      ?? .distantFuture
  }

  @discardableResult
  private static func succeed(_ program: String, _ arguments: String...) throws -> String {
    let done = try run(program, arguments, within: 400)
    guard done.status == 0 else {
      throw TestError("\(program): \(done.status) \(done.output) \(done.errors)")
    }
    return done.output
  }
}
