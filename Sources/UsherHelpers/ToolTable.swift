/// A contract and the names under which it is found.
package struct Tool: Sendable {
  /// The name in `usher-helper NAME`.
  package let name: String
  /// The name of a link to usher-helper, for tools that look for a program of a fixed name.
  package let link: String?
  /// The tools that use the contract.
  package let summary: String
  package let contract: any ToolContract.Type

  init(_ name: String, link: String? = nil, _ summary: String, _ contract: any ToolContract.Type) {
    self.name = name
    self.link = link
    self.summary = summary
    self.contract = contract
  }

  /// All contracts, one line each.
  package static let all = [
    Tool("bazel", link: "bazel-credential-usher", "Bazel, and others with its helpers", Bazel.self),
    Tool("cargo", link: "cargo-credential-usher", "cargo", Cargo.self),
    Tool("docker", link: "docker-credential-usher", "docker, podman, skopeo, helm", Docker.self),
    Tool("gcloud", "Google Cloud's libraries and command line", GoogleCloud.self),
    Tool("git", link: "git-credential-usher", "git", Git.self),
    Tool("go", "go, by GOAUTH", Go.self),
    Tool("keyring", link: "keyring", "pip, uv, and others that run keyring", Keyring.self),
    Tool("kubectl", "kubectl and other clients of Kubernetes", Kubernetes.self),
    Tool("netrc", "curl and others that read netrc, by a pipe", Netrc.self),
    Tool("terraform", link: "terraform-credentials-usher", "Terraform, OpenTofu", Terraform.self),
  ]

  /// Returns the contract that a command line names, and the arguments for it; nil if it names
  /// none.
  ///
  /// - Parameter commandLine: The name by which the program was started, and its arguments.
  package static func find(_ commandLine: [String]) -> (tool: Tool, arguments: [String])? {
    for (index, word) in commandLine.prefix(2).enumerated() {
      // Only the program's own name has directories.
      let name = index == 0 ? word.lastPathComponent : word[...]
      guard let tool = all.first(where: { $0.link.map { $0 == name } ?? false || $0.name == name })
      else { continue }
      // A program that somebody calls `git` or `go` is not a link to usher-helper.
      if index == 0 && tool.link.map({ $0 != name }) ?? true { continue }
      return (tool, Array(commandLine.dropFirst(index + 1)))
    }
    return nil
  }

  /// The reply to `usher-helper --help`.
  package static let usage: String = {
    let width = all.map(\.name.utf8.count).max() ?? 0
    let lines = all.map { tool in
      let space = String(repeating: " ", count: width + 2 - tool.name.utf8.count)
      let link = tool.link.map { "; also as \($0)" } ?? ""
      return "  \(tool.name)\(space)\(tool.summary)\(link)\n"
    }
    return """
      USAGE: usher-helper NAME [ARGUMENT ...]

      Answers a tool that asks for credentials with a token of usherd, in the tool's own format.
      Which account is used is said by the [[target]] entries of usherd's configuration.

      NAMES:
      \(lines.joined())
      ENVIRONMENT:
        USHER_SOCKET          the socket of usherd
        USHER_HELPER_SECONDS  how long to wait for usherd, 1 to 120; default 10

      """
  }()
}

extension String {
  fileprivate var lastPathComponent: Substring {
    self[(lastIndex(of: "/").map { index(after: $0) } ?? startIndex)...]
  }
}
