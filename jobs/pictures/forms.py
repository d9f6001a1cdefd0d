"""The new-picture form: what a person typed, checked and turned into an order."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs.core.models import Job
from jobs.core.states import RETRYABLE
from jobs.pictures.orders import PictureOrder
from providers.adapters.registry import Offer, is_sandbox, offers, parse_offer
from providers.sandbox.faults import FAULTS

MOST_CHARACTERS = 2000
ASPECTS = [
    ("1:1", _("Square, 1:1")),
    ("3:2", _("Landscape, 3:2")),
    ("2:3", _("Portrait, 2:3")),
    ("16:9", _("Wide, 16:9")),
    ("9:16", _("Tall, 9:16")),
]
NO_FAULT = "ok"


class PromptField(forms.CharField):
    def to_python(self, value: object) -> str:
        """A line break counts as one character, as the browser's own counter has it."""
        return super().to_python(str(value or "").replace("\r\n", "\n")) or ""


class PictureForm(forms.Form):
    """Bound by POST. `model` and `fault` exist only where there is something to choose."""

    prompt = PromptField(
        label=_("What should be in the picture?"),
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 5}),
        error_messages={
            "required": _("Enter a prompt that says what should be in the picture."),
            "max_length": _(
                "Use %(limit_value)d characters or fewer. Your prompt has %(show_value)d."
            ),
        },
    )
    aspect_ratio = forms.ChoiceField(
        label=_("Shape"), choices=ASPECTS, initial="1:1", widget=forms.RadioSelect
    )
    model = forms.ChoiceField(label=_("Model"))
    fault = forms.ChoiceField(
        label=_("Simulate a problem (test provider)"),
        required=False,
        initial=NO_FAULT,
        help_text=_(
            "See what each problem does to your slots. This works with test pictures only."
        ),
    )
    form_key = forms.CharField(max_length=64, widget=forms.HiddenInput)
    retry_of = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._choose("model", [(str(offer), str(offer)) for offer in offers()])
        self._choose("fault", [(fault.name, f"{fault.title} – {fault.says}") for fault in FAULTS])
        if len(offers()) < 2:
            del self.fields["model"]
        if not any(is_sandbox(offer.provider) for offer in offers()):
            del self.fields["fault"]
        mark_wrong(self)

    def clean(self) -> dict[str, Any] | None:
        if not offers():
            raise forms.ValidationError(
                _("No model is available on this site. Only staff can fix this.")
            )
        return super().clean()

    def order(self) -> PictureOrder:
        """Of a valid form only."""
        return PictureOrder(
            prompt=self.cleaned_data["prompt"],
            aspect_ratio=self.cleaned_data["aspect_ratio"],
            offer=self._offer(),
            fault=self._fault(),
        )

    def _offer(self) -> Offer:
        chosen = self.cleaned_data.get("model")
        return parse_offer(chosen) if chosen else offers()[0]

    def _fault(self) -> str:
        fault = self.cleaned_data.get("fault", "")
        return fault if fault != NO_FAULT and is_sandbox(self._offer().provider) else ""

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


def mark_wrong(form: forms.BaseForm) -> None:
    """Its wrong fields say so, and which words beside them say why."""
    for name in form.errors.keys() & form.fields.keys():
        described = {"aria-invalid": "true", "aria-describedby": f"id_{name}_error"}
        form.fields[name].widget.attrs.update(described)


def is_form_key(text: str) -> bool:
    return re.fullmatch(r"[\w-]{16,64}", text, re.ASCII) is not None


def fresh_form(form_key: str, source: Job | None) -> PictureForm:
    """Filled in from an earlier job where there is one; another try of it if it brought nothing."""
    initial: dict[str, object] = {"form_key": form_key}
    if source:
        initial["retry_of"] = source.pk if source.state in RETRYABLE else None
        initial["prompt"] = source.prompt
        initial["aspect_ratio"] = source.params.get("aspect_ratio", "1:1")
        initial["model"] = f"{source.params.get('provider')}:{source.params.get('model')}"
    return PictureForm(initial=initial)
