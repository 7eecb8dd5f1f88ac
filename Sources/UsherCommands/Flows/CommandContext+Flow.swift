import UsherClient

extension CommandContext {
  /// Prints a flow as JSON or as text. The credential that an exchange step contains is left out.
  func show(_ flow: Flow, _ json: [UInt8]) {
    if printsJSON {
      let reply = (try? JSONValue(parsing: json, limits: JSONLimits(nesting: 128))) ?? .null
      console.json(reply.withoutStepSecrets.encoded())
      return
    }
    console.printProperties([
      ("flow", "\(flow.id)"), ("provider", "\(flow.provider)"), ("kind", flow.kind),
      ("status", flow.status.rawValue), ("state", flow.state), ("revision", "\(flow.revision)"),
      ("step", flow.step?.kind.rawValue), ("problem", flow.problem?.message),
      ("failure", flow.failure.map { "\($0.reason.rawValue): \($0.message)" }),
      ("request", flow.requestId), ("created", "\(flow.createdAt)"),
      ("updated", "\(flow.updatedAt)"), ("expires", "\(flow.expiresAt)"),
    ])
    console.printProperties((flow.result?.objectValue ?? [:]).properties)
  }
}
