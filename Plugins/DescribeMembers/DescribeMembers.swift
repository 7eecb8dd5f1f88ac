import Foundation
import PackagePlugin

/// Adds the file that `describe-members` writes from a target's sources to the target.
@main
struct DescribeMembers: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let module = target.sourceModule else { return [] }
    let sources = module.sourceFiles(withSuffix: "swift").map(\.url)
    let output = context.pluginWorkDirectoryURL.appending(path: "MemberDescriptions.swift")
    return [
      .buildCommand(
        displayName: "Describing the members of \(target.name)",
        executable: try context.tool(named: "describe-members").url,
        arguments: [output.path] + sources.map(\.path),
        inputFiles: sources, outputFiles: [output])
    ]
  }
}
