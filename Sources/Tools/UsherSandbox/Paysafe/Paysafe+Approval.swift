extension PaysafeBackend {
  /// Shows the approval page to which a push notification or a redirect leads.
  func approvalPage(_ call: EndpointCall) async -> Reply {
    guard let event = waitingEvent(call) else { return context.pages.expired() }
    return context.pages.render(
      "approval",
      [
        "action": call.path, "user": event.user.name,
        "summary": event.operation?.summary ?? "confirm your identity",
      ])
  }

  /// Handles the decision. A redirect leads back to the client; a push ends on a final page.
  func approve(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(),
      let decision = form["decision"], ["approve", "deny"].contains(decision),
      let event = waitingEvent(call),
      let decided = events.decide(event.id, approve: decision == "approve", now: now)
    else { return context.pages.expired() }
    let approved = decision == "approve"
    guard let returnURL = decided.challenge.returnURL else {
      return context.pages.message(
        title: approved ? "Approved" : "Denied", text: "You can close this window.", status: 200)
    }
    let status: PaysafeBackendSettings.RedirectStatus =
      settings.redirectStatus == .decision
      ? (approved ? .success : .fail) : settings.redirectStatus
    return .redirect(to: returnURL.text, adding: ["status": .string(status.rawValue)])
  }

  /// Returns the event whose open challenge is named in the path, if it is of the path's kind.
  private func waitingEvent(_ call: EndpointCall) -> ScaEvent? {
    let now = context.clock.now()
    let kind: SCAVerification.Kind =
      call.path.hasPrefix("\(Self.path)/push/") ? .push : .redirect
    guard let event = events.event(ofChallenge: call.parameters["challengeId"], now: now),
      event.openChallenge(at: now)?.verification.kind == kind
    else { return nil }
    return event
  }
}
